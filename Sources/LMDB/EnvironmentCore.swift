import CLMDB
import Glibc
import Synchronization

/// The one open environment of a file in this process; handles (`Environment`) share it.
@safe
final class EnvironmentCore: Sendable {
  /// As given at the first open.
  let path: String
  let identity: FileIdentity
  /// Of the lock file, nil without one.
  let lockIdentity: FileIdentity?
  let options: Environment.Options
  // Invariant: set once at open, closed by the registry after the last handle's end; LMDB's environment functions
  // may be called from any thread, those that look into the map while `readers` keeps it in place.
  nonisolated(unsafe) let pointer: OpaquePointer
  let readers: ReaderPool
  /// Of write transactions, which do not end by age.
  let noExpiry = Expiry()
  let pageSize: Int
  let databases = Mutex<[String: Database]>([:])
  /// Held while databases are opened: LMDB allows one transaction at a time that does so.
  let databaseOpening = Mutex(())
  /// What commits promise now: the strongest that any opener asked for.
  let durability: Mutex<Environment.Durability>
  /// Set by an input/output error at commit, after which nothing is known about the file's last page.
  let isPoisoned = Atomic<Bool>(false)
  /// The newest commit that a read transaction was found to see.
  let confirmedTransaction = Atomic<Int>(0)
  /// The thread that is inside `write`, 0 if none: a second write on it would wait for itself.
  let writingThread = Atomic<UInt>(0)
  /// The first error of the running write transaction, 0 if none: what to tell if a caller swallowed it.
  let firstWriteFailure = Atomic<Int32>(0)

  init(
    path: String, identity: FileIdentity, lockIdentity: FileIdentity?, options: Environment.Options,
    pointer: OpaquePointer, pageSize: Int
  ) {
    self.path = path
    self.identity = identity
    self.lockIdentity = lockIdentity
    self.options = options
    unsafe self.pointer = unsafe pointer
    self.pageSize = pageSize
    self.readers = ReaderPool(clock: options.clock)
    self.durability = Mutex(options.durability)
  }

  /// Begins a transaction; once more after freeing slots of dead processes or taking over another's larger map.
  ///
  /// To be called between `readers.enter()` and `readers.leave()`, which keep the map in place.
  func begin(flags: UInt32, _ operation: @autoclosure () -> String) throws(LMDBError) -> OpaquePointer {
    var transaction: OpaquePointer?
    var code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction)
    if code != MDB_SUCCESS, recover(from: code) {
      code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction)
    }
    if code == MDB_PANIC { isPoisoned.store(true, ordering: .relaxed) }
    guard code == MDB_SUCCESS, let transaction = unsafe transaction else {
      throw LMDBError(returnCode: code, path: path, operation: operation())
    }
    return unsafe transaction
  }

  /// Whether what `code` complains of could be put right, so that the same call is worth another try.
  func recover(from code: Int32) -> Bool {
    switch code {
    case MDB_READERS_FULL:
      readers.closeIdle()
      return (try? clearStaleReaders()) != nil
    case MDB_MAP_RESIZED:
      // Only legal while this process has no transaction open but the one that failed to begin.
      return readers.withOnlyOneEntered { unsafe mdb_env_set_mapsize(pointer, 0) == MDB_SUCCESS }
    default:
      return false
    }
  }

  var information: MDB_envinfo? {
    unsafe readers.withMapInPlace {
      var information = unsafe MDB_envinfo()
      return unsafe mdb_env_info(pointer, &information) == MDB_SUCCESS ? information : nil
    }
  }

  /// The last commit that a read transaction begun now sees.
  ///
  /// The meta page tells of a commit while it is still being synced, up to milliseconds before readers see it: who
  /// took that number for seen would miss the commit. So a number that is new is confirmed by a read transaction.
  func lastTransactionID() -> Int {
    let known = confirmedTransaction.load(ordering: .relaxed)
    guard let written = unsafe information?.me_last_txnid, written != known else { return known }
    guard let slot = try? openReader() else { return known }
    let seen = unsafe mdb_txn_id(slot.transaction)
    unsafe mdb_txn_reset(slot.transaction)
    readers.giveBack(slot)
    return confirmedTransaction.max(seen, ordering: .relaxed).newValue
  }

  func clearStaleReaders() throws(LMDBError) -> Int {
    var dead: Int32 = 0
    try check(unsafe mdb_reader_check(pointer, &dead), "check readers")
    return Int(dead)
  }

  /// Makes commits promise at least `wanted`; never less than what an earlier opener was promised.
  func strengthen(to wanted: Environment.Durability) {
    durability.withLock { durability in
      guard wanted.rank > durability.rank else { return }
      durability = wanted
      let flags = UInt32(wanted == .synced ? MDB_NOSYNC | MDB_NOMETASYNC : MDB_NOSYNC)
      unsafe mdb_env_set_flags(pointer, flags, 0)
      if wanted == .noMetaSync { unsafe mdb_env_set_flags(pointer, UInt32(MDB_NOMETASYNC), 1) }
    }
  }

  @inline(__always)
  func check(_ code: Int32, _ operation: @autoclosure () -> String) throws(LMDBError) {
    if code != MDB_SUCCESS { throw LMDBError(returnCode: code, path: path, operation: operation()) }
  }

  func close() {
    readers.closeIdle()
    unsafe mdb_env_close(pointer)
  }
}

extension Environment.Durability {
  var rank: Int {
    switch self {
    case .unsynced: 0
    case .noMetaSync: 1
    case .synced: 2
    }
  }
}
