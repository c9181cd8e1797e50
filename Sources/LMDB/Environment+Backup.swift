import CLMDB
import Glibc

extension Environment {
  /// Copies the file, as of one commit, to `target` while it is in use, and syncs the copy and its folder.
  ///
  /// The pages of that commit stay pinned meanwhile. Waits for a running write transaction, so not from inside one.
  ///
  /// - Throws: `alreadyExists` if there is a file; `diskFull` and others, after which no partial copy is left.
  public func backup(to target: String) throws(LMDBError) {
    try core.refuseNestedWrite("backup")
    // Created here, not by LMDB: what is removed after a failure is then certain to be this copy.
    let descriptor = unsafe Glibc.open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    if descriptor < 0 { throw LMDBError(returnCode: errno, path: target, operation: "backup") }
    do throws(LMDBError) {
      defer { close(descriptor) }
      try copy(to: descriptor, target)
      if fsync(descriptor) != 0 { throw LMDBError(returnCode: errno, path: target, operation: "backup") }
    } catch {
      unsafe unlink(target)
      throw error
    }
    try FileSync.folder(of: target)
  }

  private func copy(to descriptor: Int32, _ target: String) throws(LMDBError) {
    core.readers.enter()
    defer { core.readers.leave() }
    var code = unsafe mdb_env_copyfd2(core.pointer, descriptor, 0)
    if code == MDB_READERS_FULL || code == MDB_MAP_RESIZED, core.recover(from: code) {
      // Both are found before the first byte is written.
      code = unsafe mdb_env_copyfd2(core.pointer, descriptor, 0)
    }
    if code != MDB_SUCCESS { throw LMDBError(returnCode: code, path: target, operation: "backup") }
  }
}
