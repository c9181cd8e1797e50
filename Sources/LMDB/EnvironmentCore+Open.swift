import CLMDB
import Glibc

extension EnvironmentCore {
  /// Opens the file at `path`; the registry has made sure that this process does not have it open.
  static func open(_ path: String, _ options: Environment.Options) throws(LMDBError) -> EnvironmentCore {
    if options.access == .readOnly { try refuseReadOnlyFileSystem(path) }
    let file = try DataFile(path, options.access)
    let isNew = try file.prepare()
    let pointer = unsafe try openEnvironment(path, file.resolvedPath, options)
    do {
      if isNew { try file.makeDurable() }
      var statistics = MDB_stat()
      try LMDB.check(unsafe mdb_env_stat(pointer, &statistics), path, "open")
      if options.access != .sealed { try LMDB.check(unsafe mdb_reader_check(pointer, nil), path, "check readers") }
      return unsafe EnvironmentCore(
        path: path, identity: try file.identity(),
        lockIdentity: options.access == .sealed ? nil : FileIdentity(path: file.resolvedPath + "-lock"),
        options: options, pointer: pointer,
        pageSize: Int(statistics.ms_psize))
    } catch {
      unsafe mdb_env_close(pointer)
      throw error
    }
  }

  /// Sees to it that whoever reads from now on reads the newest commit.
  ///
  /// A writer that is killed between writing a commit to the file and noting its number in the lock file leaves a
  /// commit that no reader sees and the next write transaction builds upon, as long as other processes keep the lock
  /// file in use. Who decided by what it had read before would decide wrong. LMDB puts the number right when somebody
  /// takes the dead one's lock.
  func settle() throws(LMDBError) {
    let slot = try openReader()
    let seen = unsafe mdb_txn_id(slot.transaction)
    // Not kept: who only writes takes no slot from those who read.
    readers.discard(slot)
    readers.leave()
    guard let written = unsafe information?.me_last_txnid, written > seen else { return }
    try refuseNestedWrite("open")
    readers.enter()
    defer { readers.leave() }
    unsafe mdb_txn_abort(try begin(flags: 0, "open"))
  }

  private static func openEnvironment(
    _ path: String, _ resolvedPath: String, _ options: Environment.Options
  ) throws(LMDBError) -> OpaquePointer {
    var created: OpaquePointer?
    try LMDB.check(unsafe mdb_env_create(&created), path, "create environment")
    guard let pointer = unsafe created else { throw LMDBError(.io, path: path, operation: "create environment") }
    do {
      // Beyond 2^47 bytes there is no address space; up to there the system decides.
      let size = min(max(options.mapSize, 1 << 20), 1 << 47)
      let page = Int(sysconf(Int32(_SC_PAGESIZE)))
      let readers = UInt32(clamping: max(options.maxReaders, 1))
      try LMDB.check(unsafe mdb_env_set_mapsize(pointer, (size + page - 1) / page * page), path, "set map size")
      try LMDB.check(unsafe mdb_env_set_maxreaders(pointer, readers), path, "set readers")
      try LMDB.check(unsafe mdb_env_set_maxdbs(pointer, 32), path, "set databases")
      let code = unsafe mdb_env_open(pointer, resolvedPath, flags(options), 0o644)
      // The data file was opened before: what is refused now is its lock file.
      try LMDB.check(code, code == EACCES || code == EROFS ? resolvedPath + "-lock" : path, "open")
    } catch {
      unsafe mdb_env_close(pointer)
      throw error
    }
    return unsafe pointer
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
    var system = statvfs()
    guard unsafe statvfs(path, &system) == 0 else {
      throw LMDBError(returnCode: errno, path: path, operation: "open")
    }
    if system.f_flag & UInt(ST_RDONLY) != 0 {
      throw LMDBError(.readOnlyFileSystem, path: path, operation: "open")
    }
  }
}
