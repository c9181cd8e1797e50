import CLMDB
import Glibc
import Synchronization

/// How `put` treats a key that is there.
public enum PutMode: Sendable {
  /// Replaces its value.
  case upsert
  /// The key must come after every other of the database (faster; pages stay full).
  case append
  /// Fails with `alreadyExists`.
  case insertOnly

  var flags: UInt32 {
    switch self {
    case .upsert: 0
    case .append: UInt32(MDB_APPEND)
    case .insertOnly: UInt32(MDB_NOOVERWRITE)
    }
  }
}

/// The one write transaction of a file: all of its changes become visible and durable together, or none.
///
/// Exists only inside `Environment.write`, on the thread that called it: LMDB ties it to the thread.
@safe
public struct WriteTransaction: ~Copyable, ReadableTransaction {
  private let pointer: OpaquePointer
  private let core: EnvironmentCore

  init(_ pointer: OpaquePointer, _ core: EnvironmentCore) {
    unsafe self.pointer = unsafe pointer
    self.core = core
  }

  public var id: Int { Int(unsafe mdb_txn_id(pointer)) }

  public func get(_ database: Database, _ key: UnsafeRawBufferPointer) throws(LMDBError) -> UnsafeRawBufferPointer? {
    try unsafe core.get(pointer, database, key)
  }

  public func withCursor<R>(_ database: Database, _ body: (inout Cursor) throws -> R) throws -> R {
    var cursor = try unsafe Cursor(pointer, database, core, core.noExpiry)
    return try body(&cursor)
  }

  public func statistics(_ database: Database) throws(LMDBError) -> DatabaseStatistics {
    try unsafe core.statistics(pointer, database)
  }

  /// Stores `value` under `key`.
  ///
  /// - Throws: `mapFull`, `invalidKey`, `alreadyExists` (`insertOnly`, or `append` out of order); after `mapFull` the
  ///   transaction can only fail: let the error leave `Environment.write`.
  public func put(
    _ database: Database, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, _ mode: PutMode = .upsert
  ) throws(LMDBError) {
    var stored = unsafe MDB_val(value)
    try unsafe put(database, key, &stored, mode.flags)
  }

  /// Makes room for a value of `count` bytes under `key` and returns it: the caller fills it before its next call.
  public func reserve(
    _ database: Database, key: UnsafeRawBufferPointer, count: Int, _ mode: PutMode = .upsert
  ) throws(LMDBError) -> UnsafeMutableRawBufferPointer {
    var stored = unsafe MDB_val(mv_size: count, mv_data: nil)
    try unsafe put(database, key, &stored, mode.flags | UInt32(MDB_RESERVE))
    return unsafe UnsafeMutableRawBufferPointer(start: stored.mv_data, count: stored.mv_size)
  }

  private func put(
    _ database: Database, _ key: UnsafeRawBufferPointer, _ value: inout MDB_val, _ flags: UInt32
  ) throws(LMDBError) {
    guard key.count > 0, key.count <= Database.maximumKeySize else {
      throw LMDBError(.invalidKey, path: core.path, operation: "put", detail: "\(key.count) bytes")
    }
    guard unsafe value.mv_size <= Int(UInt32.max) - 4096 else {
      throw unsafe LMDBError(.invalidValue, path: core.path, operation: "put", detail: "\(value.mv_size) bytes")
    }
    var stored = unsafe MDB_val(key)
    errno = 0
    try core.checkWrite(unsafe mdb_put(pointer, database.handle, &stored, &value, flags), "put")
  }

  /// Removes `key`; returns whether it was there.
  @discardableResult
  public func delete(_ database: Database, key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
    guard key.count > 0, key.count <= Database.maximumKeySize else {
      throw LMDBError(.invalidKey, path: core.path, operation: "delete", detail: "\(key.count) bytes")
    }
    var stored = unsafe MDB_val(key)
    errno = 0
    let code = unsafe mdb_del(pointer, database.handle, &stored, nil)
    if code == MDB_NOTFOUND { return false }
    try core.checkWrite(code, "delete")
    return true
  }
}
