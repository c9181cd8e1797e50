import Bytes
import Dataflow
public import EventLog
import LMDB
import Synchronization
import Tables
import Views

/// One directory with everything: the log, the jobs' state, the views.
///
/// One `Store` writes, in one process; any number of processes read beside it. All members may be called from any
/// thread or task. Reads are synchronous on the caller's thread; appends suspend until durable. While it is open it
/// looks after itself (`Options.maintenanceInterval`).
///
/// ```swift
/// let store = try Store.open(at: "ads.store")
/// let events = try store.topic("product-events", of: ProductEvent.self, key: \.product, timestamp: \.at)
/// try await events.append(event)                                  // durable when it returns
/// ```
public final class Store: Sendable {
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
  let maintenance: StoreMaintenance?
  private let lock: Mutex<StoreLock?>
  private let isClosed = Atomic<Bool>(false)

  /// Opens the store at `path`, a folder; creates it there if it is opened for writing and the folder is missing or
  /// empty.
  ///
  /// Opening is the recovery, whatever the size of the state: what a crash left is put right, jobs go on at their last
  /// checkpoint when they are run. Nothing is written to a folder that is refused.
  ///
  /// - Throws: `StoreError`: `alreadyOpen`, `notFound`, `notAStore`, `newerFormat`, `damagedFormat`, `missingFile`,
  ///   `permissionDenied`; `LMDBError`, `EventLogError` for a damaged or cut off file, naming it.
  public static func open(at path: String, _ options: Options = Options()) throws -> Store {
    try Store(path, options)
  }

  private init(_ path: String, _ options: Options) throws {
    let isWriter = options.access == .readWrite
    lock = Mutex(try StoreFormat.claim(path, isWriter: isWriter))
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
    maintenance = options.maintenanceInterval.map { [environment, log, outbox] interval in
      // Not the store itself: it could never end.
      StoreMaintenance(every: interval) { try Store.maintain(environment, log, outbox, isWriter: isWriter) }
    }
    // What a crash left between a checkpoint and its topics goes out now.
    if isWriter { outbox.wake() }
  }

  static let stateFile = "state.mdb"
  static let logFolder = "log"
  static let databases =
    TableSpace.databases + CheckpointStore.databases + ViewSpace.databases + OutboxKeys.databases
    + TopicCatalogue.databases

  /// Waits for what was accepted to be written, ends the store's threads and gives the store free to be opened again.
  ///
  /// Stop jobs first: one that still runs fails, its last checkpoint intact. What is asked of the store or its topics
  /// afterwards throws `closed`. Happens by itself when the last reference to the store and its topics goes. Blocks.
  public func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    maintenance?.stop()
    outbox.close()
    checkpoints.close()
    log.close()
    lock.withLock { $0 = nil }
  }

  deinit { close() }

  var isWritable: Bool { options.access == .readWrite }

  /// Throws `closed` once the store is.
  func requireOpen() throws {
    if isClosed.load(ordering: .acquiring) {
      throw StoreError(.closed, path: path, detail: "it was closed; open it again")
    }
  }

  /// Throws `readOnly` unless the store may be changed here.
  func requireWriter(_ operation: String) throws {
    try requireOpen()
    guard isWritable else {
      throw StoreError(.readOnly, path: path, detail: "cannot \(operation): the store was opened for reading")
    }
  }
}
