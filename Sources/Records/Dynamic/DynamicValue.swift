public import Bytes

/// A field's value when the Swift type is not at hand: for tools that show data by its schema alone.
public enum DynamicValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  case timestamp(Timestamp)
  case uuid(Bytes16)
  case list([DynamicValue])

  /// The number of `type` that has `bits`; nil for a Bool that is neither 0 nor 1, and for types that are no numbers.
  public init?(bits: UInt64, of type: FieldType) {
    switch type {
    case .bool:
      guard bits <= 1 else { return nil }
      self = .bool(bits == 1)
    case .int8, .int16, .int32, .int64: self = .integer(type.integer(fromBits: bits))
    case .uint8, .uint16, .uint32, .uint64: self = .unsigned(bits)
    case .float: self = .double(Double(Float(rawBits: bits)))
    case .double: self = .double(Double(bitPattern: bits))
    case .timestamp: self = .timestamp(Timestamp(microseconds: Int64(bitPattern: bits)))
    case .string, .bytes, .uuid, .list: return nil
    }
  }

  /// The value of `type` that `bytes`, in little-endian order, hold; nil if they hold none.
  public init?(bytes: UnsafeRawBufferPointer, of type: FieldType, element: FieldType? = nil) {
    if let width = type.fixedWidth, bytes.count != width { return nil }
    switch type {
    case .string:
      guard let text = unsafe makeString(bytes) else { return nil }
      self = .string(text)
    case .bytes: self = unsafe .bytes([UInt8](bytes))
    case .uuid: self = unsafe .uuid(Bytes16(high: bytes.big(UInt64.self, at: 0), low: bytes.big(UInt64.self, at: 8)))
    case .list:
      guard let element, let values = unsafe Self.list(bytes, of: element) else { return nil }
      self = .list(values)
    default:
      let bits = unsafe bytes.reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      self.init(bits: bits, of: type)
    }
  }

  private static func list(_ bytes: UnsafeRawBufferPointer, of element: FieldType) -> [DynamicValue]? {
    if element == .string { return unsafe (ListCoding.decode(bytes) as [String]?)?.map { .string($0) } }
    guard let width = element.fixedWidth, bytes.count % width == 0 else { return nil }
    var values: [DynamicValue] = []
    for offset in stride(from: 0, to: bytes.count, by: width) {
      guard let value = unsafe DynamicValue(bytes: bytes.slice(offset, width), of: element) else { return nil }
      values.append(value)
    }
    return values
  }
}

extension DynamicValue: CustomStringConvertible {
  /// As a person reads it: numbers in decimal, bytes in hexadecimal, times in microseconds since 1970.
  public var description: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .unsigned(let value): "\(value)"
    case .double(let value): "\(value)"
    case .string(let value): value
    case .bytes(let value):
      value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    case .timestamp(let value): "\(value.microseconds)"
    case .uuid(let value): "\(value)"
    case .list(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
    }
  }
}
