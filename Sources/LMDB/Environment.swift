import CLMDB
import Glibc
import Synchronization

/// One LMDB file, open in this process.
///
/// The same file is never opened twice by a process (closing the second would drop the locks of the first): `open`
/// returns a handle on the environment that is there already, and the last handle's end closes it. All members may be
/// called from any thread; a write transaction lives on the thread that asked for it.
public final class Environment: Sendable {
  let core: EnvironmentCore
  /// Whether this handle was opened for writing; another handle on the same file may have been.
  public let isWritable: Bool

  init(core: EnvironmentCore, isWritable: Bool) {
    self.core = core
    self.isWritable = isWritable
  }

  deinit { EnvironmentRegistry.shared.release(core) }

  /// How a file is opened.
  public enum Access: Sendable {
    /// Reading and writing; creates the file.
    case readWrite
    /// Reading a file that another process may write. Needs write access to its lock file.
    case readOnly
    /// Reading a file that nobody writes any more, without locks.
    case sealed
  }

  /// What a commit promises.
  public enum Durability: Sendable {
    /// On disk when it returns.
    case synced
    /// As `synced`, but a crash of the machine may lose the last commit (never the file's consistency).
    case noMetaSync
    /// Left to the system: a crash of the machine may damage the file. For data that can be rebuilt.
    case unsynced
  }

  /// The settings of an environment.
  ///
  /// The process that opens a file first decides `maxReaders` for all. Within a process the first opener decides all
  /// but three: `databases` are opened if missing, `durability` becomes the strongest asked for, and `access` is each
  /// handle's own (writing is refused once the file was opened for reading only).
  public struct Options: Sendable {
    /// The size limit in bytes; address space, not disk space. Rounded up to whole pages.
    public var mapSize: Int
    /// Reader slots: one for each open read transaction of any process.
    public var maxReaders: Int
    /// The named databases, created if missing when opened for writing.
    public var databases: [String]
    public var access: Access
    public var durability: Durability
    /// Whether the system reads ahead; without it a cold scan is eight times slower.
    public var readAhead: Bool
    /// The age after which a read transaction is ended with `readerExpired` at its next use; nil for no limit.
    /// Enforced by `expireReaders()`.
    public var maximumReaderAge: Duration?
    /// Monotonic milliseconds, by which read transactions age; nil for the system's coarse clock.
    public var clock: (@Sendable () -> Int)?

    public init(
      mapSize: Int = 64 << 30, maxReaders: Int = 510, databases: [String] = [], access: Access = .readWrite,
      durability: Durability = .synced, readAhead: Bool = true, maximumReaderAge: Duration? = nil,
      clock: (@Sendable () -> Int)? = nil
    ) {
      self.mapSize = mapSize
      self.maxReaders = maxReaders
      self.databases = databases
      self.access = access
      self.durability = durability
      self.readAhead = readAhead
      self.maximumReaderAge = maximumReaderAge
      self.clock = clock
    }
  }

  /// Opens the file at `path` (and `path`-lock beside it), or joins the environment of this process that has it open.
  ///
  /// Checks before mapping that the file is as long as its contents, and frees reader slots of dead processes. A new
  /// file is durable, with its entry in the folder, when this returns. Symbolic links are followed; hard links
  /// have a lock file each, so never open one file under two names in two processes. Who removes a file removes its
  /// `-lock` file, too, before another takes the name.
  ///
  /// - Throws: `notFound`, `permissionDenied`, `truncated`, `versionMismatch`, `readOnlyFileSystem`, `diskFull`, …
  public static func open(at path: String, _ options: Options = Options()) throws(LMDBError) -> Environment {
    Environment(
      core: try EnvironmentRegistry.shared.acquire(path, options), isWritable: options.access == .readWrite)
  }

  /// Checks without opening it that the file at `path` is as long as its contents: two small reads.
  ///
  /// - Throws: `truncated`, with what was expected and found; `notFound`, also if its creation was never finished.
  public static func checkLength(at path: String) throws(LMDBError) { _ = try DataFile(path, .sealed).prepare() }

  /// The file's path as given at the first open.
  public var path: String { core.path }

  /// The database called `name`, one of `Options.databases`.
  ///
  /// - Throws: `notFound` if it was not asked for at open, or does not exist in a file opened for reading.
  public func database(_ name: String) throws(LMDBError) -> Database {
    guard let database = core.databases.withLock({ $0[name] }) else {
      throw LMDBError(.notFound, path: path, operation: "open database \(name)")
    }
    return database
  }

  /// The number of the last committed transaction: a cheap poll for news (20 ns while there are none).
  ///
  /// A read transaction begun after this has this `id` or a later one.
  public var lastTransactionID: Int { core.lastTransactionID() }

  /// Writes everything that the system still holds back to the disk.
  public func sync() throws(LMDBError) {
    let code = unsafe mdb_env_sync(core.pointer, 1)
    if code == EIO { core.isPoisoned.store(true, ordering: .relaxed) }
    try core.check(code, "sync")
  }
}
