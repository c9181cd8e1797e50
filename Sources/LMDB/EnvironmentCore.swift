import CLMDB
import Glibc
import Synchronization

/// The one open environment of a file in this process; handles (`Environment`) share it.
@safe
final class EnvironmentCore: Sendable {
  let path: String
  let options: Environment.Options
  // Invariant: set once at open, closed by the registry after the last handle's end; LMDB's environment functions
  // may be called from any thread.
  nonisolated(unsafe) let pointer: OpaquePointer
  let databases: Mutex<[String: Database]>
  let readers: ReaderPool
  /// Set by an input/output error at commit, after which nothing is known about the file's last page.
  let isPoisoned = Atomic<Bool>(false)

  private init(path: String, options: Environment.Options, pointer: OpaquePointer) {
    self.path = path
    self.options = options
    unsafe self.pointer = unsafe pointer
    self.databases = Mutex([:])
    self.readers = ReaderPool()
  }

  static func open(_ path: String, _ options: Environment.Options) throws(LMDBError) -> EnvironmentCore {
    if options.access != .readWrite {
      guard unsafe access(path, R_OK) == 0 else { throw LMDBError(returnCode: errno, path: path, operation: "open") }
      if options.access == .readOnly { try refuseReadOnlyFileSystem(path) }
    }
    try FileLengthCheck.verify(path)
    var created: OpaquePointer?
    try LMDB.check(unsafe mdb_env_create(&created), path, "create environment")
    guard let pointer = unsafe created else { throw LMDBError(.io, path: path, operation: "create environment") }
    do {
      let pages = (max(options.mapSize, 1 << 20) + 4095) / 4096
      try LMDB.check(unsafe mdb_env_set_mapsize(pointer, pages * 4096), path, "set map size")
      try LMDB.check(unsafe mdb_env_set_maxreaders(pointer, UInt32(options.maxReaders)), path, "set readers")
      try LMDB.check(unsafe mdb_env_set_maxdbs(pointer, 32), path, "set databases")
      try LMDB.check(unsafe mdb_env_open(pointer, path, flags(options), 0o644), path, "open")
    } catch {
      unsafe mdb_env_close(pointer)
      throw error
    }
    let core = unsafe EnvironmentCore(path: path, options: options, pointer: pointer)
    do {
      if options.access != .sealed { _ = try core.clearStaleReaders() }
      try core.openDatabases(options.databases)
    } catch {
      core.close()
      throw error
    }
    return core
  }

  private static func flags(_ options: Environment.Options) -> UInt32 {
    var flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS)
    switch options.access {
    case .readWrite: break
    case .readOnly: flags |= UInt32(MDB_RDONLY)
    case .sealed: flags |= UInt32(MDB_RDONLY | MDB_NOLOCK)
    }
    switch options.durability {
    case .synced: break
    case .noMetaSync: flags |= UInt32(MDB_NOMETASYNC)
    case .unsynced: flags |= UInt32(MDB_NOSYNC)
    }
    if !options.readAhead { flags |= UInt32(MDB_NORDAHEAD) }
    return flags
  }

  /// Without a writable lock file LMDB goes on silently without locks, and snapshots change underneath.
  private static func refuseReadOnlyFileSystem(_ path: String) throws(LMDBError) {
    let lock = path + "-lock"
    if unsafe access(lock, F_OK) == 0, unsafe access(lock, W_OK) != 0 {
      throw LMDBError(
        errno == EROFS ? .readOnlyFileSystem : .permissionDenied, path: lock, operation: "open", errorNumber: errno)
    }
    var system = statvfs()
    if unsafe statvfs(path, &system) == 0, system.f_flag & UInt(ST_RDONLY) != 0 {
      throw LMDBError(.readOnlyFileSystem, path: path, operation: "open")
    }
  }

  /// Opens the named databases that are not open yet; handles stay for the environment's life.
  func openDatabases(_ names: [String]) throws(LMDBError) {
    let missing = databases.withLock { open in names.filter { open[$0] == nil } }
    if missing.isEmpty { return }
    let isWriter = options.access == .readWrite
    let transaction = unsafe try begin(flags: isWriter ? 0 : UInt32(MDB_RDONLY), "open databases")
    var opened: [String: Database] = [:]
    for name in missing {
      var handle: UInt32 = 0
      let code = unsafe mdb_dbi_open(transaction, name, isWriter ? UInt32(MDB_CREATE) : 0, &handle)
      if code == MDB_NOTFOUND && !isWriter { continue }
      if code != MDB_SUCCESS {
        unsafe mdb_txn_abort(transaction)
        try check(code, "open database \(name)")
      }
      opened[name] = Database(handle: handle)
    }
    try check(unsafe mdb_txn_commit(transaction), "open databases")
    databases.withLock { $0.merge(opened) { old, _ in old } }
  }

  /// Begins a transaction; once more after freeing slots of dead processes or taking over another's larger map.
  func begin(flags: UInt32, _ operation: @autoclosure () -> String) throws(LMDBError) -> OpaquePointer {
    for attempt in 0... {
      var transaction: OpaquePointer?
      let code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction)
      if code == MDB_SUCCESS, let transaction = unsafe transaction { return unsafe transaction }
      if attempt == 0 && recover(from: code) { continue }
      throw LMDBError(returnCode: code, path: path, operation: operation())
    }
    throw LMDBError(.badHandle, path: path, operation: operation())
  }

  /// Whether what `code` complains of could be put right, so that the same call is worth another try.
  func recover(from code: Int32) -> Bool {
    switch code {
    case MDB_READERS_FULL:
      readers.closeIdle()
      return (try? clearStaleReaders()) != nil
    case MDB_MAP_RESIZED:
      // Only legal while this process has no transaction open.
      return readers.withNoneOpen { unsafe mdb_env_set_mapsize(pointer, 0) == MDB_SUCCESS }
    default:
      return false
    }
  }

  var lastTransactionID: Int {
    var info = unsafe MDB_envinfo()
    return unsafe mdb_env_info(pointer, &info) == MDB_SUCCESS ? Int(unsafe info.me_last_txnid) : 0
  }

  func clearStaleReaders() throws(LMDBError) -> Int {
    var dead: Int32 = 0
    try check(unsafe mdb_reader_check(pointer, &dead), "check readers")
    return Int(dead)
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
