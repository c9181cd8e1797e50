import Bytes
import Glibc
import LMDB
import Synchronization

/// What the topics of an open log share.
final class LogCore: Sendable {
  let directory: String
  let options: LogOptions
  let catalog: Catalog
  let pool: SegmentPool
  let writers = WriterThreads()
  let batches = BatchPool()
  /// For what is to be done a little later.
  let timer: any DelayScheduler
  /// The consumer groups with members here.
  let groups = GroupRegistry()
  /// How many hold retention and compaction off: while it is not 0 no segment is removed or replaced.
  private let holds = Mutex(0)
  /// Passed through by one compaction at a time, whatever the topic: it bounds their memory.
  let compactionGate = Semaphore(value: 1)
  private let lockDescriptor: Int32
  private let readerThread = Mutex<PinnedThread?>(nil)
  private let isClosed = Atomic<Bool>(false)

  var isWritable: Bool { options.access == .readWrite }

  init(directory: String, options: LogOptions) throws(EventLogError) {
    try options.validate()
    self.directory = directory
    self.options = options
    pool = SegmentPool(capacity: options.maximumOpenSegments)
    timer = options.timer ?? DelayTimer()
    if options.access == .readWrite {
      try LogFiles.makeDirectory(directory)
      lockDescriptor = try Self.lock(directory)
    } else {
      guard LogFiles.isDirectory(directory) else {
        throw EventLogError(.notFound, "there is no such directory", path: directory)
      }
      lockDescriptor = -1
    }
    do {
      try Self.refuseWithoutCatalog(directory)
      catalog = try Catalog.open(in: directory, isWritable: options.access == .readWrite)
      if options.access == .readWrite { try LogFiles.syncDirectory(directory) }
    } catch {
      Self.unlock(lockDescriptor)
      throw error
    }
  }

  /// How a segment is opened beside its topic: never so that the writer would be shut out.
  func access(to segment: SegmentRecord) -> Environment.Access {
    segment.isSealed ? .sealed : isWritable ? .readWrite : .readOnly
  }

  deinit { close() }

  /// One writer per log: the lock ends with the process, however it ends.
  private static func lock(_ directory: String) throws(EventLogError) -> Int32 {
    let path = directory + "/writer.lock"
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    if descriptor < 0 { throw EventLogError(LogFiles.systemError(errno, path), "opening the writer's lock failed") }
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      Glibc.close(descriptor)
      throw EventLogError(
        .alreadyOpen, "the log is open for writing already; close it there, or open this one for reading", path: path)
    }
    return descriptor
  }

  /// Not by closing alone: a child process that is just being started holds the descriptor, too, until it has begun.
  private static func unlock(_ descriptor: Int32) {
    if descriptor < 0 { return }
    flock(descriptor, LOCK_UN)
    Glibc.close(descriptor)
  }

  /// Segments without a catalogue are no orphans: removing them would be the end of the log.
  private static func refuseWithoutCatalog(_ directory: String) throws(EventLogError) {
    let path = directory + "/" + Catalog.fileName
    if let size = LogFiles.size(path), size > 0 { return }
    for topic in LogFiles.names(in: directory) where LogFiles.isDirectory(directory + "/" + topic) {
      if LogFiles.names(in: directory + "/" + topic).contains(where: { LogFiles.segmentNumber($0) != nil }) {
        throw EventLogError(
          .damaged, "there are segments but no catalogue that names them; restore it from a backup", path: path)
      }
    }
  }

  /// Runs `change`, which removes segments from the catalogue, and returns true; false if that is held off.
  func changingSegments(_ change: () throws(EventLogError) -> Void) throws(EventLogError) -> Bool {
    let result = holds.withLock { holds -> Result<Bool, EventLogError> in
      if holds > 0 { return .success(false) }
      do throws(EventLogError) {
        try change()
        return .success(true)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Keeps every segment in the catalogue and its file while `body` runs.
  func holdingSegments<R>(_ body: () throws -> R) rethrows -> R {
    holds.withLock { $0 += 1 }
    defer { holds.withLock { $0 -= 1 } }
    return try body()
  }

  var isEnded: Bool { isClosed.load(ordering: .acquiring) }

  func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    timer.stop()
    groups.close()
    pool.close()
    writers.stop()
    Self.unlock(lockDescriptor)
  }

  /// The thread on which asynchronous readers read, so that cold pages never block the cooperative pool.
  func onReaderThread(_ job: @escaping @Sendable () -> Void) {
    let thread = readerThread.withLock { thread in
      if let thread { return thread }
      let started = PinnedThread(name: "log-reader")
      thread = started
      return started
    }
    thread.async(job)
  }
}
