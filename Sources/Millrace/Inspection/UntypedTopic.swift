import Bytes
public import EventLog
public import Records

/// A topic read without its Swift type: values by the schemas that they were written with. For tools; one thread at a
/// time.
public struct UntypedTopic {
  public let log: LogTopic
  private let store: Store
  var schemas: [Schema]

  init(_ store: Store, _ log: LogTopic) throws {
    self.store = store
    self.log = log
    schemas = try store.schemas(ofTopic: log.id)
  }

  /// The value in `bytes`, copied. Never fails: what cannot be decoded comes as bytes with the reason.
  public mutating func value(_ bytes: UnsafeRawBufferPointer) -> UntypedValue {
    if schemas.isEmpty { reload() }
    if schemas.isEmpty { return unsafe .raw([UInt8](bytes)) }
    guard let number = unsafe bytes.first else { return .undecodable([], reason: "the value is empty") }
    // A writer may have added one since.
    if Int(number) >= schemas.count { reload() }
    guard Int(number) < schemas.count else {
      return unsafe .undecodable(
        [UInt8](bytes), reason: "it names schema \(number), the topic has \(schemas.count)")
    }
    do {
      return try unsafe UntypedValue(bytes.slice(1, bytes.count - 1), schemas[Int(number)])
    } catch {
      return unsafe .undecodable([UInt8](bytes), reason: "\(error)")
    }
  }

  private mutating func reload() {
    if let found = try? store.schemas(ofTopic: log.id) { schemas = found }
  }
}

/// A record's value without its Swift type.
public enum UntypedValue: Hashable, Sendable {
  /// A struct's fields: the schema names them.
  case record(Schema, [DynamicValue])
  case scalar(DynamicValue)
  /// What a `Codable` or JSON value is made of.
  case tree(UntypedTree)
  /// Bytes without a schema.
  case raw([UInt8])
  /// Bytes that are not what their schema says.
  case undecodable([UInt8], reason: String)

  /// The value that `bytes` hold by `schema`.
  init(_ bytes: UnsafeRawBufferPointer, _ schema: Schema) throws {
    switch schema.form {
    case .record: self = .record(schema, try unsafe schema.dynamicValues(bytes))
    case .scalar: self = .scalar(try unsafe schema.dynamicValues(bytes).first ?? .null)
    case .raw: self = unsafe .raw([UInt8](bytes))
    case .codable: self = .tree(try unsafe Codec<UntypedTree>.codable.decode(bytes))
    case .json: self = .tree(try unsafe Codec<UntypedTree>.json.decode(bytes))
    }
  }
}

extension Store {
  /// The topic called `name`, to be read without its type.
  ///
  /// - Throws: `EventLogError.unknownTopic`.
  public func untypedTopic(_ name: String) throws -> UntypedTopic { try UntypedTopic(self, try log.topic(name)) }
}
