import CLMDB
import Synchronization

/// What both kinds of transaction can do: look up, and walk in key order.
public protocol ReadableTransaction: ~Copyable {
  /// The transaction's number: of a read transaction, the last commit that it sees.
  var id: Int { get }

  /// The value of `key`, or nil. The bytes lie in the map: valid until the transaction ends and, in a write
  /// transaction, until its next change. Values are only 2-byte aligned.
  ///
  /// - Throws: `invalidKey` for an empty key or one above 511 bytes; `readerExpired`.
  func get(_ database: Database, _ key: UnsafeRawBufferPointer) throws(LMDBError) -> UnsafeRawBufferPointer?

  /// Opens a cursor for the time of `body`.
  func withCursor<R>(_ database: Database, _ body: (inout Cursor) throws -> R) throws -> R

  /// How much `database` holds.
  func statistics(_ database: Database) throws(LMDBError) -> DatabaseStatistics
}

/// How much a database holds.
public struct DatabaseStatistics: Sendable, Hashable {
  /// Key/value pairs.
  public var entries: Int
  /// Levels of the tree.
  public var depth: Int
  /// Pages of 4,096 bytes: inner, leaf, overflow.
  public var branchPages: Int
  public var leafPages: Int
  public var overflowPages: Int
}

/// A consistent view of one file: everything committed when it began, nothing later. Never waits for the writer.
///
/// Pins the pages that it sees: while it is open the file cannot reuse them. May move between threads, used by one at
/// a time. Takes one reader slot. Once it expired (`Environment.expireReaders()`) its next use throws,
/// and from that moment what was read through it is invalid.
public struct ReadTransaction: ~Copyable, ReadableTransaction {
  let environment: Environment
  let slot: ReaderPool.Slot

  init(_ environment: Environment) throws(LMDBError) {
    self.slot = try environment.core.openReader()
    self.environment = environment
  }

  deinit {
    unsafe mdb_txn_reset(slot.transaction)
    environment.core.readers.giveBack(slot)
  }

  public var id: Int { Int(unsafe mdb_txn_id(slot.transaction)) }

  /// Milliseconds since it was begun or renewed.
  public var age: Int { environment.core.readers.now() - slot.begun.load(ordering: .relaxed) }

  /// Moves to the newest commit; everything read before is invalid. Also revives an expired transaction.
  public mutating func renew() throws(LMDBError) {
    let core = environment.core
    unsafe mdb_txn_reset(slot.transaction)
    var code = unsafe mdb_txn_renew(slot.transaction)
    if code != MDB_SUCCESS, core.recover(from: code) { code = unsafe mdb_txn_renew(slot.transaction) }
    try core.check(code, "renew")
    slot.restart(at: core.readers.now())
  }

  public func get(_ database: Database, _ key: UnsafeRawBufferPointer) throws(LMDBError) -> UnsafeRawBufferPointer? {
    try checkAge()
    return try unsafe environment.core.get(slot.transaction, database, key)
  }

  public func withCursor<R>(_ database: Database, _ body: (inout Cursor) throws -> R) throws -> R {
    try checkAge()
    var cursor = try unsafe Cursor(slot.transaction, database, environment.core, slot.expiry)
    return try body(&cursor)
  }

  public func statistics(_ database: Database) throws(LMDBError) -> DatabaseStatistics {
    try checkAge()
    return try unsafe environment.core.statistics(slot.transaction, database)
  }

  /// Throws `readerExpired` once `Environment.expireReaders()` found this transaction too old. Every use of the
  /// transaction does; call it where bytes that were found before are used again.
  public func checkAge() throws(LMDBError) {
    if slot.expiry.isReached {
      unsafe mdb_txn_reset(slot.transaction)
      throw LMDBError(.readerExpired, path: environment.path, operation: "read")
    }
  }
}

extension Environment {
  /// Begins a read transaction that the caller keeps and ends by dropping it.
  public func beginRead() throws(LMDBError) -> ReadTransaction { try ReadTransaction(self) }

  /// Runs `body` on a consistent view of the file.
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    let transaction = try ReadTransaction(self)
    return try body(transaction)
  }
}

extension EnvironmentCore {
  /// A slot with a transaction on the newest commit; given back it leaves the pool.
  func openReader() throws(LMDBError) -> ReaderPool.Slot {
    if let slot = readers.take() {
      if unsafe mdb_txn_renew(slot.transaction) == MDB_SUCCESS { return slot }
      readers.discard(slot)
    }
    do {
      return unsafe readers.add(try begin(flags: UInt32(MDB_RDONLY), "begin reading"))
    } catch {
      readers.leave()
      throw error
    }
  }

  func get(_ transaction: OpaquePointer, _ database: Database, _ key: UnsafeRawBufferPointer)
    throws(LMDBError) -> UnsafeRawBufferPointer?
  {
    // LMDB answers "not found" for a key that it could never hold.
    guard key.count > 0, key.count <= Database.maximumKeySize else {
      throw LMDBError(.invalidKey, path: path, operation: "get", detail: "\(key.count) bytes")
    }
    var wanted = unsafe MDB_val(key)
    var found = unsafe MDB_val()
    let code = unsafe mdb_get(transaction, database.handle, &wanted, &found)
    if code == MDB_NOTFOUND { return nil }
    try check(code, "get")
    return unsafe found.bytes
  }

  func statistics(_ transaction: OpaquePointer, _ database: Database) throws(LMDBError) -> DatabaseStatistics {
    var statistics = MDB_stat()
    try check(unsafe mdb_stat(transaction, database.handle, &statistics), "statistics")
    return DatabaseStatistics(
      entries: Int(statistics.ms_entries), depth: Int(statistics.ms_depth),
      branchPages: Int(statistics.ms_branch_pages), leafPages: Int(statistics.ms_leaf_pages),
      overflowPages: Int(statistics.ms_overflow_pages))
  }
}

extension MDB_val {
  init(_ bytes: UnsafeRawBufferPointer) {
    unsafe self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: mv_data, count: mv_size) }
}
