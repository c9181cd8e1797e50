import Glibc
import Synchronization

/// Every environment that this process has open, by the identity of its file.
///
/// LMDB's locks are POSIX record locks: closing any descriptor of the lock file drops them all, so a file must be open
/// once at most.
final class EnvironmentRegistry: Sendable {
  static let shared = EnvironmentRegistry()

  private struct Entry {
    var core: EnvironmentCore
    var handles: Int
  }

  private let entries = Mutex<[FileIdentity: Entry]>([:])

  /// The environment of the file at `path`: the one that is open, or a new one. Ended by `release`.
  func acquire(_ path: String, _ options: Environment.Options) throws(LMDBError) -> EnvironmentCore {
    // Opening under the lock keeps a second thread from opening the same file meanwhile; databases are opened after
    // it, because that may wait for a writer.
    let result = entries.withLock { entries -> Result<(EnvironmentCore, isNew: Bool), LMDBError> in
      do throws(LMDBError) {
        if let identity = FileIdentity(path: path), let entry = entries[identity] {
          if options.access == .readWrite && entry.core.options.access != .readWrite {
            throw LMDBError(.openedReadOnly, path: path, operation: "open for writing")
          }
          entry.core.strengthen(to: options.durability)
          entries[identity]?.handles += 1
          return .success((entry.core, false))
        }
        if options.access != .sealed { try Self.refuseSharedLockFile(path, entries) }
        let core = try EnvironmentCore.open(path, options)
        entries[core.identity] = Entry(core: core, handles: 1)
        return .success((core, true))
      } catch {
        return .failure(error)
      }
    }
    let (core, isNew) = try result.get()
    do {
      if isNew && options.access == .readWrite { try core.settle() }
      try core.openDatabases(options.databases, creating: options.access == .readWrite)
    } catch {
      release(core)
      throw error
    }
    return core
  }

  /// A file that replaced one still open here would share its lock file, and closing either would drop the locks of
  /// both.
  private static func refuseSharedLockFile(_ path: String, _ entries: [FileIdentity: Entry]) throws(LMDBError) {
    guard let lock = FileIdentity(path: DataFile.lockPath(of: path)) else { return }
    if entries.values.contains(where: { $0.core.lockIdentity == lock }) {
      throw LMDBError(
        .badHandle, path: path, operation: "open",
        detail: "this process still has the file open that had this name before; close it first")
    }
  }

  /// Ends one handle; the last one closes the environment.
  func release(_ core: EnvironmentCore) {
    entries.withLock { entries in
      guard let entry = entries[core.identity], entry.core === core else { return }
      if entry.handles > 1 {
        entries[core.identity]?.handles -= 1
      } else {
        entries[core.identity] = nil
        core.close()
      }
    }
  }
}
