import Bytes
import Dataflow
import LMDB
import Records

/// What the store knows of its typed topics: which schemas their values were written with, by number.
///
/// Database "topics": the key is the topic's id in the log (u64, big-endian) and the schema's number (u8), the value
/// the schema's encoding behind its CRC-32C.
struct TopicCatalogue: Sendable {
  static let databases = ["topics"]
  /// A topic's values name their schema by one byte.
  static let maximumSchemas = 250

  let database: Database
  let path: String

  init(_ environment: Environment) throws {
    database = try environment.database(Self.databases[0])
    path = environment.path
  }

  /// The topic's schemas in the order of their numbers.
  func schemas<T: ReadableTransaction & ~Copyable>(of topic: UInt64, in transaction: borrowing T) throws -> [Schema] {
    var schemas: [Schema] = []
    while let bytes = try schemaBytes(topic, UInt8(schemas.count), transaction) {
      schemas.append(try unsafe bytes.withUnsafeBytes { try unsafe Schema(decoding: $0) })
    }
    return schemas
  }

  private func schemaBytes<T: ReadableTransaction & ~Copyable>(
    _ topic: UInt64, _ number: UInt8, _ transaction: borrowing T
  ) throws -> [UInt8]? {
    if Int(number) >= Self.maximumSchemas { return nil }
    return try unsafe Self.key(topic, number).withUnsafeBytes { key in
      guard let value = try unsafe transaction.get(database, key) else { return nil }
      guard value.count > 4,
        unsafe CRC32C.checksum(value.slice(4, value.count - 4)) == value.little(UInt32.self, at: 0)
      else {
        throw StoreError(
          .io, path: path, detail: "schema \(number) of topic \(topic) does not match its checksum; restore a backup")
      }
      return unsafe [UInt8](value.slice(4, value.count - 4))
    }
  }

  /// The number of `schema` in the topic, given anew if it is not there.
  func add(_ schema: Schema, to topic: UInt64, in transaction: borrowing WriteTransaction) throws -> UInt8 {
    let known = try schemas(of: topic, in: transaction)
    if let index = known.firstIndex(of: schema) { return UInt8(index) }
    guard known.count < Self.maximumSchemas else {
      throw StoreError(
        .schemaMismatch, path: path,
        detail: "a topic can have \(Self.maximumSchemas) versions of its type; copy it to a new topic")
    }
    let encoded = schema.encoded()
    var value = ByteBuffer(capacity: encoded.count + 4)
    unsafe encoded.withUnsafeBytes { unsafe value.append(CRC32C.checksum($0)) }
    value.append(encoded)
    try unsafe Self.key(topic, UInt8(known.count)).withUnsafeBytes { key in
      try unsafe transaction.put(database, key: key, value: value.bytes, .insertOnly)
    }
    return UInt8(known.count)
  }

  private static func key(_ topic: UInt64, _ number: UInt8) -> [UInt8] {
    var buffer = ByteBuffer(capacity: 16)
    buffer.append(bigEndian: topic)
    buffer.append(number)
    return buffer.array
  }
}
