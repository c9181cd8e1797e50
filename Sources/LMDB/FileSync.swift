import Glibc

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
