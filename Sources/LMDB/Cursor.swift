import CLMDB
import Synchronization

/// A position in a database, in key order. Lives inside `withCursor`.
///
/// Every move returns whether there is an entry; `key` and `value` are those of the last successful move and are valid
/// until the transaction ends (in a write transaction, until its next change).
@safe
public struct Cursor: ~Copyable {
  private let pointer: OpaquePointer
  private let core: EnvironmentCore
  /// Whether the transaction ended by age.
  private let expiry: Expiry
  /// The key at the position.
  public private(set) var key: UnsafeRawBufferPointer
  /// The value at the position.
  public private(set) var value: UnsafeRawBufferPointer

  init(
    _ transaction: OpaquePointer, _ database: Database, _ core: EnvironmentCore, _ expiry: Expiry
  ) throws(LMDBError) {
    var opened: OpaquePointer?
    try core.check(unsafe mdb_cursor_open(transaction, database.handle, &opened), "open cursor")
    guard let pointer = unsafe opened else { throw LMDBError(.badHandle, path: core.path, operation: "open cursor") }
    unsafe self.pointer = unsafe pointer
    self.core = core
    self.expiry = expiry
    unsafe self.key = UnsafeRawBufferPointer(start: nil, count: 0)
    unsafe self.value = UnsafeRawBufferPointer(start: nil, count: 0)
  }

  deinit { unsafe mdb_cursor_close(pointer) }

  public mutating func first() throws(LMDBError) -> Bool { unsafe try move(MDB_FIRST) }
  public mutating func last() throws(LMDBError) -> Bool { unsafe try move(MDB_LAST) }
  public mutating func next() throws(LMDBError) -> Bool { unsafe try move(MDB_NEXT) }
  public mutating func previous() throws(LMDBError) -> Bool { unsafe try move(MDB_PREV) }

  /// Moves to the first entry with a key at or after `key`.
  public mutating func seek(atLeast key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
    if key.count > Database.maximumKeySize {
      throw LMDBError(.invalidKey, path: core.path, operation: "seek", detail: "\(key.count) bytes")
    }
    return unsafe key.isEmpty ? try first() : try unsafe move(MDB_SET_RANGE, to: key)
  }

  /// Moves to the entry of exactly `key`.
  public mutating func seek(exactly key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
    guard key.count > 0, key.count <= Database.maximumKeySize else {
      throw LMDBError(.invalidKey, path: core.path, operation: "seek", detail: "\(key.count) bytes")
    }
    return try unsafe move(MDB_SET_KEY, to: key)
  }

  private mutating func move(
    _ operation: MDB_cursor_op, to target: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws(LMDBError) -> Bool {
    if expiry.isReached {
      unsafe mdb_txn_reset(mdb_cursor_txn(pointer))
      throw LMDBError(.readerExpired, path: core.path, operation: "move cursor")
    }
    var key = unsafe MDB_val(target)
    var value = unsafe MDB_val()
    let code = unsafe mdb_cursor_get(pointer, &key, &value, operation)
    if code == MDB_NOTFOUND { return false }
    try core.check(code, "move cursor")
    unsafe self.key = unsafe key.bytes
    unsafe self.value = unsafe value.bytes
    return true
  }
}
