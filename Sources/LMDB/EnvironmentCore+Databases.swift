import CLMDB
import Glibc
import Synchronization

extension EnvironmentCore {
  /// Opens the named databases that are not open yet; handles stay for the environment's life.
  func openDatabases(_ names: [String], creating isWriter: Bool) throws(LMDBError) {
    let result = databaseOpening.withLock { _ -> Result<Void, LMDBError> in
      do throws(LMDBError) {
        // Those that exist need no write transaction, which would wait for another process's.
        try openDatabases(missing(of: names), isWriter: false)
        if isWriter { try openDatabases(missing(of: names), isWriter: true) }
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  private func missing(of names: [String]) -> [String] {
    databases.withLock { open in names.filter { open[$0] == nil } }
  }

  private func openDatabases(_ names: [String], isWriter: Bool) throws(LMDBError) {
    if names.isEmpty { return }
    if isWriter { try refuseNestedWrite("open databases") }
    readers.enter()
    defer { readers.leave() }
    let transaction = unsafe try begin(flags: isWriter ? 0 : UInt32(MDB_RDONLY), "open databases")
    var opened: [String: Database] = [:]
    for name in names {
      var handle: UInt32 = 0
      let code = unsafe mdb_dbi_open(transaction, name, isWriter ? UInt32(MDB_CREATE) : 0, &handle)
      if code == MDB_NOTFOUND && !isWriter { continue }
      if code != MDB_SUCCESS {
        unsafe mdb_txn_abort(transaction)
        try check(code, "open database \(name)")
      }
      opened[name] = Database(handle: handle)
    }
    if isWriter {
      try unsafe commit(transaction, "open databases")
    } else {
      try check(unsafe mdb_txn_commit(transaction), "open databases")
    }
    databases.withLock { $0.merge(opened) { old, _ in old } }
  }
}
