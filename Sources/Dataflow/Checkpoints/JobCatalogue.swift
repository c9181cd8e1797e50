import Bytes
public import LMDB

/// Reads, and for the checkpoint store writes, what the state file knows of its jobs. Works in any process.
///
/// Keys of the database "checkpoints": "m" for the store's own figures, "j" followed by a job's name.
public struct JobCatalogue: Sendable {
  /// The named databases that must be among the environment's.
  public static let databases = ["checkpoints"]

  /// The store's own figures.
  struct Figures {
    static let formatVersion: UInt8 = 1
    /// The last checkpoint's number.
    var checkpoint: UInt64 = 0
    var nextJob: UInt64 = 1
  }

  private let database: Database

  public init(_ environment: Environment) throws(LMDBError) {
    database = try environment.database(Self.databases[0])
  }

  /// The number of the last committed checkpoint, 0 if there is none. Grows by one with every commit, over all jobs.
  public func lastCheckpoint(in transaction: borrowing some ReadableTransaction & ~Copyable) throws -> UInt64 {
    try figures(in: transaction).checkpoint
  }

  /// The record of the job called `name`, or nil.
  public func job(
    _ name: String, in transaction: borrowing some ReadableTransaction & ~Copyable
  ) throws -> JobRecord? {
    try unsafe Self.withKey(of: name) { key in
      guard let bytes = unsafe try transaction.get(database, key) else { return nil }
      return try unsafe JobRecord(name: name, decoding: bytes)
    }
  }

  /// Every job's record, by name.
  public func jobs(in transaction: borrowing some ReadableTransaction & ~Copyable) throws -> [JobRecord] {
    try transaction.withCursor(database) { cursor in
      var records: [JobRecord] = []
      let prefix: [UInt8] = [UInt8(ascii: "j")]
      var found = try unsafe prefix.withUnsafeBytes { try unsafe cursor.seek(atLeast: $0) }
      while found, unsafe cursor.key.first == UInt8(ascii: "j") {
        let key = unsafe cursor.key
        let name = unsafe String(decoding: key.slice(1, key.count - 1), as: UTF8.self)
        records.append(try unsafe JobRecord(name: name, decoding: cursor.value))
        found = try cursor.next()
      }
      return records
    }
  }

  func figures(in transaction: borrowing some ReadableTransaction & ~Copyable) throws -> Figures {
    let key: [UInt8] = [UInt8(ascii: "m")]
    return try unsafe key.withUnsafeBytes { key in
      guard let bytes = unsafe try transaction.get(database, key) else { return Figures() }
      var reader = try unsafe CatalogueReader(bytes, subject: "checkpoints", version: Figures.formatVersion)
      return Figures(checkpoint: try reader.integer(), nextJob: try reader.integer())
    }
  }

  func put(_ figures: Figures, in transaction: borrowing WriteTransaction) throws {
    var buffer = ByteBuffer(capacity: 64)
    buffer.append(UInt32(0))
    buffer.append(Figures.formatVersion)
    buffer.append(figures.checkpoint)
    buffer.append(figures.nextJob)
    buffer.sealChecksum()
    let key: [UInt8] = [UInt8(ascii: "m")]
    try unsafe key.withUnsafeBytes { try unsafe transaction.put(database, key: $0, value: buffer.bytes) }
  }

  func put(_ record: JobRecord, in transaction: borrowing WriteTransaction) throws {
    var buffer = ByteBuffer(capacity: 512)
    record.encode(into: &buffer)
    try unsafe Self.withKey(of: record.name) { key in
      try unsafe transaction.put(database, key: key, value: buffer.bytes)
    }
  }

  func delete(_ name: String, in transaction: borrowing WriteTransaction) throws {
    try unsafe Self.withKey(of: name) { key in _ = try unsafe transaction.delete(database, key: key) }
  }

  private static func withKey<R>(of name: String, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    var key = ByteBuffer(capacity: 64)
    key.append(UInt8(ascii: "j"))
    key.append(utf8: name)
    return try unsafe body(key.bytes)
  }
}
