/// A value of unknown type as a decoder shows it: what self-describing formats (CBOR, JSON) hold.
public indirect enum UntypedTree: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  case list([UntypedTree])
  /// Members in the order of the data, as far as its format keeps one.
  case object([Member])

  public struct Member: Hashable, Sendable {
    public var name: String
    public var value: UntypedTree

    public init(name: String, value: UntypedTree) {
      self.name = name
      self.value = value
    }
  }
}

extension UntypedTree: Codable {
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public init(from decoder: any Decoder) throws {
    if let scalar = try? Self.scalar(try decoder.singleValueContainer()) {
      self = scalar
    } else if let container = try? decoder.container(keyedBy: Key.self) {
      self = .object(
        try container.allKeys.map { Member(name: $0.stringValue, value: try container.decode(Self.self, forKey: $0)) })
    } else if var container = try? decoder.unkeyedContainer() {
      var values: [UntypedTree] = []
      while !container.isAtEnd { values.append(try container.decode(Self.self)) }
      self = .list(values)
    } else {
      self = .bytes(try decoder.singleValueContainer().decode([UInt8].self))
    }
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> UntypedTree {
    if container.decodeNil() { return .null }
    if let value = try? container.decode(Bool.self) { return .bool(value) }
    if let value = try? container.decode(Int64.self) { return .integer(value) }
    if let value = try? container.decode(UInt64.self) { return .unsigned(value) }
    if let value = try? container.decode(Double.self) { return .double(value) }
    return .string(try container.decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let members):
      var container = encoder.container(keyedBy: Key.self)
      for member in members { try container.encode(member.value, forKey: Key(stringValue: member.name)) }
    case .list(let values):
      var container = encoder.unkeyedContainer()
      for value in values { try container.encode(value) }
    default:
      var container = encoder.singleValueContainer()
      switch self {
      case .bool(let value): try container.encode(value)
      case .integer(let value): try container.encode(value)
      case .unsigned(let value): try container.encode(value)
      case .double(let value): try container.encode(value)
      case .string(let value): try container.encode(value)
      case .bytes(let value): try container.encode(value)
      default: try container.encodeNil()
      }
    }
  }
}
