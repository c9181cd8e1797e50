import CLMDB
import Glibc

extension Environment {
  /// Copies the file, as of one commit, to `target` while it is in use, and syncs the copy and its folder.
  ///
  /// The pages of that commit stay pinned meanwhile.
  ///
  /// - Throws: `alreadyExists` if there is a file; `diskFull`, after which the partial copy is removed.
  public func backup(to target: String) throws(LMDBError) {
    let code = unsafe mdb_env_copy2(core.pointer, target, 0)
    if code != MDB_SUCCESS {
      if code != EEXIST { unsafe unlink(target) }
      throw LMDBError(returnCode: code, path: target, operation: "backup")
    }
    try FileSync.file(target)
    try FileSync.folder(of: target)
  }
}

/// Syncing what LMDB does not sync itself: copies, and folders that got a new file.
public enum FileSync {
  /// Writes the file's contents to the disk.
  public static func file(_ path: String) throws(LMDBError) { try sync(path, O_RDONLY) }

  /// Makes the folder's entries durable.
  public static func folder(_ path: String) throws(LMDBError) { try sync(path, O_RDONLY | O_DIRECTORY) }

  /// Makes the entry of `path` in its folder durable.
  public static func folder(of path: String) throws(LMDBError) {
    guard let slash = path.lastIndex(of: "/") else { return try folder(".") }
    try folder(slash == path.startIndex ? "/" : String(path[..<slash]))
  }

  private static func sync(_ path: String, _ flags: Int32) throws(LMDBError) {
    let descriptor = unsafe open(path, flags | O_CLOEXEC)
    if descriptor < 0 { throw LMDBError(returnCode: errno, path: path, operation: "sync") }
    defer { close(descriptor) }
    if fsync(descriptor) != 0 { throw LMDBError(returnCode: errno, path: path, operation: "sync") }
  }
}
