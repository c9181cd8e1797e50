import Glibc

/// A file's identity, whatever the path to it.
struct FileIdentity: Hashable {
  var device: UInt
  var inode: UInt

  /// Of the file at `path`, following symbolic links; nil if there is none.
  init?(path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
  }
}

/// The data file while its environment is being opened: creates it, checks it, and makes it durable, before LMDB maps
/// it.
///
/// Holds an advisory lock meanwhile (`flock`: apart from the record locks that LMDB uses), so that no process takes
/// another's half-created file for a damaged one.
struct DataFile: ~Copyable {
  let path: String
  /// Without symbolic links: LMDB puts the lock file beside this path, the same one for every process.
  let resolvedPath: String
  private let descriptor: Int32
  private let isWriter: Bool

  init(_ path: String, _ access: Environment.Access) throws(LMDBError) {
    let isWriter = access == .readWrite
    let flags = isWriter ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC
    let descriptor = unsafe Glibc.open(path, flags, 0o644)
    if descriptor < 0 { throw LMDBError(returnCode: errno, path: path, operation: "open") }
    guard let resolved = Self.resolve(path) else {
      let code = errno
      Glibc.close(descriptor)
      throw LMDBError(returnCode: code, path: path, operation: "open")
    }
    self.path = path
    self.resolvedPath = resolved
    self.descriptor = descriptor
    self.isWriter = isWriter
    if access != .sealed {
      while flock(descriptor, isWriter ? LOCK_EX : LOCK_SH) != 0 && errno == EINTR {}
    }
  }

  private static func resolve(_ path: String) -> String? {
    guard let resolved = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  /// Where LMDB keeps the locks of the file at `path`, which need not exist.
  static func lockPath(of path: String) -> String { (resolve(path) ?? path) + "-lock" }

  deinit { Glibc.close(descriptor) }

  /// Checks the file's length; empties what a crash left of a file that never was complete. Returns whether it is new.
  func prepare() throws(LMDBError) -> Bool {
    let check = FileLengthCheck(descriptor: descriptor, path: path)
    if try check.isUnborn() {
      if !isWriter {
        throw LMDBError(.notFound, path: path, operation: "open", detail: "its creation was never finished")
      }
      if ftruncate(descriptor, 0) != 0 { throw LMDBError(returnCode: errno, path: path, operation: "open") }
      return true
    }
    try check.verify()
    return false
  }

  /// Syncs a new file and its folder: whoever is told of a commit in it may rely on finding it.
  func makeDurable() throws(LMDBError) {
    if fsync(descriptor) != 0 { throw LMDBError(returnCode: errno, path: path, operation: "sync") }
    try FileSync.folder(of: resolvedPath)
  }

  func identity() throws(LMDBError) -> FileIdentity {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw LMDBError(returnCode: errno, path: path, operation: "open")
    }
    return FileIdentity(status)
  }
}
