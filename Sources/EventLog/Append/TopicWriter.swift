import Bytes
import Glibc
import LMDB
import Synchronization

/// The one that writes a topic's segments, one job at a time on a thread of the log: takes what waits in the queue,
/// commits it with one sync, and only then resumes those who wait (group commit). While it has nothing to do it holds
/// neither a thread nor a file.
// Invariant of `@unchecked Sendable`: what is not `let` is touched only by jobs of `worker`, after `init`, which runs
// before the first job, or by `stop` when there is no job any more.
final class TopicWriter: @unchecked Sendable {
  let state: TopicState
  let queue: AppendQueue
  let core: LogCore
  private let starter = Starter()
  private let worker: SerialWorker
  private var isEnded = false
  /// An input/output error after which it is not known what the live segment holds.
  private var broken: EventLogError?
  /// The live segment as it was opened last, and checked.
  private weak var checked: SegmentFile?
  /// The size of the live segment's file.
  private var liveBytes = 0
  var segments: [SegmentRecord]
  var tail: SegmentTail
  var producers: ProducerTable
  private var removedSegments = 0
  /// The highest segment number given so far; some are used up in the catalogue later, or never.
  private var lastNumber: UInt64 = 0
  let compactions: CompactionThread
  private var gathering = CommitGathering()
  private let compressor = BatchCompressor()
  let journal: TopicJournal

  init(state: TopicState, file: SegmentFile, segments: [SegmentRecord], tail: SegmentTail, producers: ProducerTable) {
    self.state = state
    core = state.core
    worker = SerialWorker(core.writers)
    checked = file
    liveBytes = file.environment.usage.bytesUsed
    self.segments = segments
    self.tail = tail
    self.producers = producers
    compactions = CompactionThread(topic: state.name)
    journal = TopicJournal(topic: state.id, directory: state.directory)
    let start = starter
    let options = state.core.options
    queue = AppendQueue(
      partitions: state.partitions,
      limits: AppendQueue.Limits(
        maximumBytes: options.maximumPendingBytes, batchBytes: options.batchBytes, commitBytes: options.commitBytes),
      delays: AppendQueue.Delays(
        awaited: options.linger.wholeNanoseconds,
        unawaited: max(options.linger, options.flushDelay).wholeNanoseconds, timer: state.core.timer),
      pool: core.batches, start: { start.run() })
    queue.isStamped = state.options.timestamps == .append
    start.writer.withLock { $0 = self }
    state.onAwaited { start.do { $0.scheduleSync() } }
  }

  /// The circle between queue and writer; `stop` breaks it. (A weak reference would slow down every use of the writer.)
  private final class Starter: Sendable {
    let writer = Mutex<TopicWriter?>(nil)
    func run() { self.do { $0.cycle() } }

    /// Does `body` on the writer's thread, unless the writer was stopped.
    func `do`(_ body: @escaping @Sendable (TopicWriter) -> Void) {
      guard let writer = writer.withLock({ $0 }) else { return }
      writer.async { body(writer) }
    }
  }

  @discardableResult
  private func async(_ job: @escaping @Sendable () -> Void) -> Bool { worker.async(job) }

  /// The live segment, opened again if it was let go of meanwhile.
  var file: SegmentFile {
    get throws(EventLogError) {
      if let broken { throw broken }
      guard !isEnded, let record = segments.last else {
        throw EventLogError(.closed, "the log was closed", topic: state.name)
      }
      let file = try state.file(of: record)
      if file !== checked {
        try check(file)
        checked = file
      }
      return file
    }
  }

  /// Nobody else writes: it must end where it ended when it was open before.
  private func check(_ file: SegmentFile) throws(EventLogError) {
    let next: UInt64
    do {
      next = try file.lastSequence().map { $0 + 1 } ?? segments.last?.firstSequence ?? 0
    } catch {
      throw EventLogError(wrapping: error, "opening the live segment again failed", topic: state.name)
    }
    if next != tail.nextSequence {
      throw EventLogError(
        .damaged,
        "the live segment ends before batch \(next), it ended before batch \(tail.nextSequence) when it was open last; "
          + "somebody else wrote to it: close the log and verify it", topic: state.name, path: file.path)
    }
  }

  /// Runs `body` on the writer's thread and resumes `waiter` with its result.
  func run<R: Sendable>(_ waiter: AnyWaiter<R>, _ body: @escaping @Sendable (TopicWriter) throws -> R) {
    let isTaken = async { waiter.resume(Result { try body(self) }) }
    if !isTaken { waiter.resume(.failure(EventLogError(.closed, "the log was closed", topic: state.name))) }
  }

  /// Does `body` on the writer's thread in some time; not if the writer is stopped before.
  func later(nanoseconds: Int, _ body: @escaping @Sendable (TopicWriter) -> Void) {
    core.timer.after(nanoseconds: nanoseconds) { [starter] in starter.do(body) }
  }

  /// Resumes `waiter` when everything enqueued so far is synced or has failed.
  func flush(_ waiter: AnyWaiter<Void>) {
    queue.flush(waiter)
    syncJournal()
  }

  /// Takes what is in the journal into the segment soon.
  func syncJournal() {
    if state.hasUnsynced { starter.do { $0.commitJournalNow() } }
  }

  /// Lets go of a writer that never had anything to do.
  func abandon() { starter.writer.withLock { $0 = nil } }

  /// Writes what was accepted, ends the thread, and lets go of the file.
  func stop(_ reason: EventLogError) {
    queue.close(reason)
    queue.kick()
    let isInside = worker.isCurrent
    worker.stop()
    // The last holder of the log let go on this very thread, which cannot wait for itself.
    if isInside { cycle() }
    // No job runs any more, or it is this one. What cannot be committed now stays in the journal for the next opening.
    if !journal.isEmpty { try? commitJournal() }
    if journal.isEmpty { try? journal.remove() }
    // What was accepted in the last moment, when the thread took nothing any more.
    while let batches = queue.take(upTo: .max) {
      for batch in batches { finish(batch, .failure(reason)) }
      queue.finished(batches)
    }
    starter.writer.withLock { $0 = nil }
    isEnded = true
    state.end(reason)
    compactions.stop(waiting: !isInside)
  }

  /// Writes what waits, one commit after another; other jobs have their turn in between.
  private func cycle() {
    while step() {
      if async({ self.cycle() }) { return }
    }
  }

  /// One commit; false, and idle, if nothing waits.
  private func step() -> Bool {
    let most = min(core.options.commitBytes * 2, LogOptions.maximumCommitBytes)
    guard let batches = queue.take(upTo: most) else { return false }
    var bytes = 0
    var waiters = 0
    for batch in batches {
      bytes += unsafe batch.pointer.pointee.byteCount
      waiters += unsafe batch.pointer.pointee.waiters.count
      if unsafe batch.pointer.pointee.unit != nil && !batch.pointer.pointee.continuesUnit { waiters += 1 }
    }
    let (outcomes, isSynced) = accept(batches, bytes: bytes)
    let arrived = queue.arrivals.load(ordering: .relaxed)
    // First, so that who is told of the commit finds room.
    queue.release(bytes)
    for (batch, outcome) in zip(batches, outcomes) { finish(batch, outcome, isSynced) }
    queue.finished(batches)
    if !isSynced { journaled() }
    if !core.writers.isCrowded { gathering.wait(for: waiters, after: arrived, queue.arrivals) }
    return true
  }

  private func finish(_ batch: BatchHandle, _ outcome: Result<BatchOutcome, EventLogError>, _ isSynced: Bool = true) {
    for waiter in unsafe batch.pointer.pointee.waiters { waiter.resume(outcome) }
    unsafe batch.pointer.pointee.unit?.finish(outcome)
    guard let progress = unsafe batch.pointer.pointee.progress else { return }
    let records = unsafe batch.pointer.pointee.unawaited
    switch outcome {
    case .failure(let failure): progress.finish(records: records, failure)
    case .success where isSynced: progress.finish(records: records, nil)
    case .success: journal.finishLater(progress, records: records)
    }
  }

  /// One transaction for all `batches`. A segment without room is sealed and the next one tried, once.
  func commit(_ batches: [BatchHandle]) -> [Result<BatchOutcome, EventLogError>] {
    do {
      let now = core.options.clock()
      if try isDue(now) { try roll(now) }
      do {
        return try write(batches, now)
      } catch let error as LMDBError where error.code == .mapFull && tail.firstAppendAt != nil {
        try roll(now)
        return try write(batches, now)
      }
    } catch {
      return Array(repeating: .failure(failure(error)), count: batches.count)
    }
  }

  /// To be called after each commit.
  func noteSize() { liveBytes = checked?.environment.usage.bytesUsed ?? liveBytes }

  func failure(_ error: any Error) -> EventLogError {
    var failure = EventLogError(wrapping: error, "writing to the log failed, nothing was written", topic: state.name)
    if failure.isOutcomeUnknown {
      failure.message = "an input/output error left the outcome of a commit unknown; close the log and open it again"
      // Also when the file is let go of and opened again.
      if let live = segments.last, failure.cause?.path == state.path(of: live.number) { broken = broken ?? failure }
    }
    return failure
  }

  private func write(_ batches: [BatchHandle], _ now: Timestamp) throws -> [Result<BatchOutcome, EventLogError>] {
    prepare(batches)
    let outcomes = try file.write(
      batches, topic: state.name, now: now, tail: &tail, producers: &producers, fault: core.options.fault)
    noteSize()
    state.publish(ends: tail.nextOffsets, sequence: tail.nextSequence)
    return outcomes
  }

  /// Compresses what nobody has prepared yet, before the transaction begins.
  func prepare(_ batches: [BatchHandle]) {
    let level = state.compression.level
    if level == 0 { return }
    for batch in batches where unsafe batch.pointer.pointee.recordsChecksum == nil {
      unsafe batch.pointer.pointee.prepare(compressor, level: level)
    }
  }

  // MARK: Producers

  /// Opens the idempotent producer of that name; see `SegmentFile.openProducer`.
  func openProducer(_ name: String) throws -> ProducerID {
    let now = core.options.clock()
    do {
      try commitJournal()
      do {
        return try file.openProducer(name, topic: state.name, now: now, &producers)
      } catch let error as LMDBError where error.code == .mapFull && tail.firstAppendAt != nil {
        try roll(now)
        return try file.openProducer(name, topic: state.name, now: now, &producers)
      }
    } catch {
      throw failure(error)
    }
  }

  func lastSequence(_ key: ProducerTable.Key) -> (epoch: UInt32, sequence: Int64)? {
    producers[key].map { ($0.epoch, $0.lastSequence) }
  }

  /// Runs `job` some time later, or at once when the log is closed meanwhile.
  func retry(after nanoseconds: Int, _ job: @escaping @Sendable () -> Void) {
    core.timer.after(nanoseconds: nanoseconds, job)
  }

  // MARK: Segments

  func isDue(_ now: Timestamp) throws -> Bool {
    guard let first = tail.firstAppendAt else { return false }
    let options = state.options
    if liveBytes >= options.segmentBytes { return true }
    guard let age = options.segmentAge else { return false }
    return now.microseconds(since: Timestamp(microseconds: first)) >= age.wholeMicroseconds
  }

  /// Seals the live segment and begins the next.
  ///
  /// The new file is complete and synced, its directory too, before one transaction of the catalogue names it and
  /// seals the old one. A crash before that leaves an orphan; after it, a finished roll.
  func roll(_ now: Timestamp) throws {
    guard var sealed = segments.last else { return }
    let number = try nextNumber()
    let next = SegmentRecord(
      topic: state.id, number: number, createdAt: tail.stamp(now), firstSequence: tail.nextSequence,
      starts: tail.nextOffsets)
    let path = state.path(of: number)
    let created = try SegmentFile.create(
      path, next, producers: producers, topic: state.name, mapBytes: state.mapBytes)
    sealed.seal(tail, bytes: liveBytes)
    do {
      try LogFiles.syncDirectory(state.directory)
      let old = sealed
      try core.catalog.write("rolling a segment failed") { transaction in
        try core.catalog.use(segment: number, in: transaction)
        try core.catalog.put(old, in: transaction)
        try core.catalog.put(next, in: transaction)
      }
    } catch {
      // After an input/output error the catalogue may name it; what it does not name is removed at the next open.
      if !error.isOutcomeUnknown { try? LogFiles.removeSegment(path) }
      throw error
    }
    segments[segments.count - 1] = sealed
    segments.append(next)
    checked = created
    liveBytes = created.environment.usage.bytesUsed
    _ = try? core.pool.segment(path) { created }
    tail = SegmentTail(beginning: next)
    state.publish(segments: segments)
    // The roll is done; `maintain` tries again and reports.
    try? removeExpired(now)
  }

  /// A number for a new segment, not given before.
  func nextNumber() throws(EventLogError) -> UInt64 {
    lastNumber = max(lastNumber + 1, try core.catalog.nextSegment())
    return lastNumber
  }

  /// Publishes changed segments.
  func publishSegments() { state.publish(segments: segments) }

  /// Seals the live segment if it is due, and removes what retention no longer keeps; returns how many segments went.
  func maintain(_ now: Timestamp) throws -> Int {
    try commitJournal()
    let before = removedSegments
    let options = state.options
    let isExpired = tail.lastAppendAt.map { isOlder($0, options.retentionAge, now) } ?? false
    if try isDue(now) || isExpired { try roll(now) }
    try removeExpired(now)
    return removedSegments - before
  }

  /// Seals the live segment now, if anything is in it.
  func seal() throws {
    try commitJournal()
    if tail.firstAppendAt != nil { try roll(core.options.clock()) }
  }

  private func isOlder(_ time: Int64, _ age: Duration?, _ now: Timestamp) -> Bool {
    guard let age else { return false }
    return now.microseconds(since: Timestamp(microseconds: time)) > age.wholeMicroseconds
  }

  /// Removes whole sealed segments from the oldest on. First the catalogue forgets them, then the files go: readers in
  /// the middle of one keep its pages until they let go.
  private func removeExpired(_ now: Timestamp) throws {
    let options = state.options
    var total = liveBytes + segments.reduce(0) { $0 + ($1.isSealed ? $1.bytes : 0) }
    var expired: [SegmentRecord] = []
    for segment in segments where segment.isSealed {
      let isTooMuch = options.retentionBytes.map { total > $0 } ?? false
      guard isTooMuch || isOlder(segment.lastAppendAt.microseconds, options.retentionAge, now) else { break }
      total -= segment.bytes
      expired.append(segment)
    }
    if expired.isEmpty { return }
    let gone = expired
    let isRemoved = try core.changingSegments { () throws(EventLogError) in
      try core.catalog.write("removing old segments failed") { transaction in
        for segment in gone { try core.catalog.remove(segment, in: transaction) }
      }
    }
    if !isRemoved { return }
    segments.removeFirst(expired.count)
    removedSegments += expired.count
    publishSegments()
    for segment in expired {
      let path = state.path(of: segment.number)
      core.pool.forget(path)
      try LogFiles.removeSegment(path)
    }
    try LogFiles.syncDirectory(state.directory)
  }
}
