public import Bytes
import Dataflow
public import EventLog
import LMDB
import Synchronization
import Tables
import Views

/// One directory with everything: the log, the jobs' state, the views.
///
/// One `Store` writes, in one process; any number of processes read beside it. All members may be called from any
/// thread or task. Reads are synchronous on the caller's thread; appends suspend until durable.
///
/// ```swift
/// let store = try Store.open(at: "ads.store")
/// let events = try store.topic("product-events", of: ProductEvent.self, key: \.product, timestamp: \.at)
/// try await events.append(event)                                  // durable when it returns
/// ```
public final class Store: Sendable {
  /// How a store is opened.
  public enum Access: Sendable {
    /// Reading and writing; creates the store if there is none. One at a time.
    case readWrite
    /// Reading beside the process that writes. Needs write access to the store's lock files.
    case readOnly
  }

  /// The settings of a store.
  public struct Options: Sendable {
    public var access: Access
    /// The size limit of the state file in bytes: address space, not disk space. It holds all state and views.
    public var stateMapBytes: Int
    /// The most snapshots that may be open at once, over all processes.
    public var maximumSnapshots: Int
    /// The age at which a snapshot's next read throws instead of pinning old pages for ever.
    public var maximumSnapshotAge: Duration
    /// The settings of the log; its access is the store's.
    public var log: LogOptions
    /// The time, for records without their own and for ages; replaced in tests.
    public var clock: @Sendable () -> Timestamp

    public init(
      access: Access = .readWrite, stateMapBytes: Int = 64 << 30, maximumSnapshots: Int = 510,
      maximumSnapshotAge: Duration = .seconds(3600), log: LogOptions = LogOptions(),
      clock: @escaping @Sendable () -> Timestamp = LogOptions.systemTime
    ) {
      self.access = access
      self.stateMapBytes = stateMapBytes
      self.maximumSnapshots = maximumSnapshots
      self.maximumSnapshotAge = maximumSnapshotAge
      self.log = log
      self.clock = clock
    }
  }

  /// The store's folder.
  public let path: String
  public let options: Options
  /// The log as it is: raw topics, retention, verification.
  public let log: EventLog
  let environment: Environment
  let tables: TableSpace
  let checkpoints: CheckpointStore
  let viewSpace: ViewSpace
  let outbox: Outbox
  private let lock: StoreLock?
  private let isClosed = Atomic<Bool>(false)

  /// Opens the store at `path`, a folder; creates it there if it is opened for writing and the folder is missing or empty.
  ///
  /// Opening is the recovery, whatever the size of the state: what a crash left is put right, jobs go on at their last
  /// checkpoint when they are run.
  ///
  /// - Throws: `StoreError`: `alreadyOpen`, `notFound`, `notAStore`, `newerFormat`, `permissionDenied`; `LMDBError`,
  ///   `EventLogError` for a damaged, cut off or missing file, naming it.
  public static func open(at path: String, _ options: Options = Options()) throws -> Store {
    try Store(path, options)
  }

  private init(_ path: String, _ options: Options) throws {
    let isWriter = options.access == .readWrite
    try StoreFormat.check(path, create: isWriter)
    lock = isWriter ? try StoreLock(folder: path) : nil
    self.path = path
    self.options = options
    var logOptions = options.log
    logOptions.access = isWriter ? .readWrite : .readOnly
    environment = try Environment.open(
      at: path + "/" + Store.stateFile,
      Environment.Options(
        mapSize: options.stateMapBytes, maxReaders: options.maximumSnapshots + 16, databases: Store.databases,
        access: isWriter ? .readWrite : .readOnly, maximumReaderAge: options.maximumSnapshotAge))
    log = try EventLog.open(at: path + "/" + Store.logFolder, logOptions)
    tables = try TableSpace(environment: environment)
    checkpoints = try CheckpointStore(environment: environment, tables: tables)
    viewSpace = try ViewSpace(environment: environment, tables: tables)
    outbox = try Outbox(checkpoints, log)
    // What a crash left between a checkpoint and its topics goes out now.
    if isWriter { outbox.wake() }
  }

  static let stateFile = "state.mdb"
  static let logFolder = "log"
  static let databases =
    TableSpace.databases + CheckpointStore.databases + ViewSpace.databases + OutboxKeys.databases
    + TopicCatalogue.databases

  /// Waits for what was accepted to be written and ends the store's threads. Jobs must have ended. Happens by itself
  /// when the last reference goes.
  public func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    outbox.close()
    checkpoints.close()
    log.close()
  }

  deinit { close() }

  var isWritable: Bool { options.access == .readWrite }

  /// Throws `readOnly` unless the store may be changed here.
  func requireWriter(_ operation: String) throws {
    if isClosed.load(ordering: .acquiring) { throw StoreError(.closed, path: path, detail: "it was closed") }
    guard isWritable else {
      throw StoreError(.readOnly, path: path, detail: "cannot \(operation): the store was opened for reading")
    }
  }

  /// What must be done from time to time, say every few seconds: retention and rolling of quiet topics, snapshots past
  /// their age, readers that died. Jobs that run do it for the state file themselves.
  public func maintain() async throws {
    environment.expireReaders()
    if isWritable {
      try environment.clearStaleReaders()
      try await log.maintain()
    }
  }
}
