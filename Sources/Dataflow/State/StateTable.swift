public import Bytes
public import LMDB
public import Records
public import Tables

/// A table that keeps the values of one named state, and the codecs for every schema its values were written with.
///
/// Key in the table: key group (1 byte) ‖ key ‖ namespace. Value: schema number (1 byte) ‖ the codec's bytes. Schemas
/// are notes of the table, so that values written before a change of type stay readable, each by its own.
@safe
public struct StateTable<Value>: Sendable {
  public let space: TableSpace
  public let table: TableID
  @usableFromInline let codec: Codec<Value>
  @usableFromInline let schemaNumber: UInt8
  @usableFromInline let readers: [UInt8: Codec<Value>]

  /// Opens the table called `name`, made if there is none, in a write transaction of the state file.
  ///
  /// - Throws: `RecordsError` naming the field when stored values cannot be read as `Value`, before anything is
  ///   written; `StateError.tooManySchemas` after 255 changes of type.
  public init(
    opening name: String, codec: Codec<Value>, space: TableSpace, in transaction: borrowing WriteTransaction
  ) throws {
    try self.init(
      name, try space.table(named: name, in: transaction), codec, space, in: transaction)
  }

  /// Opens `table`, which exists; `name` is for errors only.
  ///
  /// - Throws: As `init(opening:codec:space:in:)`.
  public init(
    _ name: String, in table: TableID, codec: Codec<Value>, space: TableSpace,
    in transaction: borrowing WriteTransaction
  ) throws {
    try self.init(name, table, codec, space, in: transaction)
  }

  private init(
    _ name: String, _ known: TableID?, _ codec: Codec<Value>, _ space: TableSpace,
    in transaction: borrowing WriteTransaction
  ) throws {
    self.space = space
    self.codec = codec
    var readers: [UInt8: Codec<Value>] = [:]
    var own: UInt8?
    let notes = try known.map { try space.notes(of: $0, in: transaction) } ?? []
    for (number, bytes) in notes {
      let schema = try unsafe bytes.withUnsafeBytes { unsafe try Schema(decoding: $0) }
      readers[number] = try codec.reading(writtenWith: schema)
      if schema == codec.schema { own = number }
    }
    let table = try known ?? space.create(named: name, in: transaction)
    self.table = table
    if let own {
      schemaNumber = own
    } else {
      guard readers.count < 255 else {
        throw StateError(
          .tooManySchemas, state: name,
          detail: "its type changed more than 255 times; rebuild it by replay into a new state")
      }
      let number = UInt8(readers.count)
      schemaNumber = number
      readers[number] = codec
      try unsafe codec.schema.encoded().withUnsafeBytes {
        try unsafe space.setNote(number, $0, of: table, in: transaction)
      }
    }
    self.readers = readers
  }

  /// The value that `bytes` of the table hold.
  @inlinable
  func decode(_ bytes: UnsafeRawBufferPointer) throws -> Value {
    if unsafe bytes.count > 0 && bytes[0] == schemaNumber {
      return try unsafe codec.decode(bytes.slice(1, bytes.count - 1))
    }
    return try unsafe reader(bytes).decode(bytes.slice(1, bytes.count - 1))
  }
}

extension StateTable {
  @usableFromInline
  static func tooShort(_ table: TableID, _ count: Int) -> StateError {
    StateError(
      .unknownSchema, state: "table \(table.value)",
      detail: "a value of \(count) bytes has no room for the time of its writing; verify the store")
  }

  /// The codec of the schema that `bytes` name.
  @usableFromInline
  func reader(_ bytes: UnsafeRawBufferPointer) throws -> Codec<Value> {
    guard bytes.count > 0, let codec = unsafe readers[bytes[0]] else {
      throw StateError(
        .unknownSchema, state: "table \(table.value)",
        detail: "a value was written with a schema that the table does not list; verify the store")
    }
    return codec
  }
}

/// What can be wrong with stored state.
public struct StateError: Error, Sendable, CustomStringConvertible {
  /// The kind of error. New codes may be added; switch with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable { case tooManySchemas, unknownSchema }
    let kind: Kind

    /// A state's type was changed more often than can be kept.
    public static let tooManySchemas = Code(kind: .tooManySchemas)
    /// A stored value names a schema that is not there.
    public static let unknownSchema = Code(kind: .unknownSchema)

    public var description: String { kind.rawValue }
  }

  public var code: Code
  /// The state's name.
  public var state: String
  /// What was found and what to do.
  public var detail: String

  public init(_ code: Code, state: String, detail: String) {
    self.code = code
    self.state = state
    self.detail = detail
  }

  /// Never: the same call fails again.
  public var isRetriable: Bool { false }

  public var description: String { "state \"\(state)\": \(detail) (\(code))" }
}
