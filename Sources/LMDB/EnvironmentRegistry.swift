import Glibc
import Synchronization

/// Every environment that this process has open, by the identity of its file.
///
/// LMDB's locks are POSIX record locks: closing any descriptor of the lock file drops them all, so a file must be open
/// once at most.
final class EnvironmentRegistry: Sendable {
  static let shared = EnvironmentRegistry()

  private struct FileIdentity: Hashable {
    var device: UInt
    var inode: UInt
  }

  private struct Entry {
    var core: EnvironmentCore
    var handles: Int
  }

  private let entries = Mutex<[FileIdentity: Entry]>([:])

  /// The environment of the file at `path`: the one that is open, or a new one.
  func acquire(_ path: String, _ options: Environment.Options) throws(LMDBError) -> EnvironmentCore {
    // Opening under the lock keeps a second thread from opening the same file meanwhile.
    let result = entries.withLock { entries -> Result<EnvironmentCore, LMDBError> in
      do throws(LMDBError) {
        if options.access == .readWrite { try Self.createFile(path) }
        if let identity = Self.identity(path), let entry = entries[identity] {
          if options.access == .readWrite && entry.core.options.access != .readWrite {
            throw LMDBError(.openedReadOnly, path: path, operation: "open for writing")
          }
          try entry.core.openDatabases(options.databases)
          entries[identity]?.handles += 1
          return .success(entry.core)
        }
        let core = try EnvironmentCore.open(path, options)
        guard let identity = Self.identity(path) else {
          core.close()
          throw LMDBError(returnCode: errno, path: path, operation: "open")
        }
        entries[identity] = Entry(core: core, handles: 1)
        return .success(core)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Ends one handle; the last one closes the environment.
  func release(_ core: EnvironmentCore) {
    entries.withLock { entries in
      guard let (identity, entry) = entries.first(where: { $0.value.core === core }) else { return }
      if entry.handles > 1 {
        entries[identity]?.handles -= 1
      } else {
        entries[identity] = nil
        core.close()
      }
    }
  }

  /// A new file gets its identity before LMDB sees it.
  private static func createFile(_ path: String) throws(LMDBError) {
    let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    if descriptor < 0 { throw LMDBError(returnCode: errno, path: path, operation: "open") }
    Glibc.close(descriptor)
  }

  private static func identity(_ path: String) -> FileIdentity? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return FileIdentity(device: UInt(status.st_dev), inode: UInt(status.st_ino))
  }
}
