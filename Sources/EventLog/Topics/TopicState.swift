import Bytes
import LMDB
import Synchronization

/// What readers need to know of a topic: its segments, and how far each partition is durable.
///
/// In the writer's process the writer publishes it after each synced commit; in another process `refresh` finds out.
final class TopicState: Sendable {
  /// What there is at one moment.
  struct Snapshot: Sendable {
    /// Oldest first; the last one is live.
    var segments: [SegmentRecord]
    /// Every partition's durable end: the next offset.
    var ends: [Int64]
    /// The sequence behind the last durable batch.
    var endSequence: UInt64

    func start(_ partition: Int) -> Int64 { segments.first?.starts[partition] ?? ends[partition] }
    func range(_ partition: Int) -> Range<Int64> { min(start(partition), ends[partition])..<ends[partition] }
  }

  private struct State {
    var snapshot: Snapshot
    var options: TopicOptions
    /// Set once nothing more can come: the log was closed or the topic deleted.
    var ending: EventLogError?
    var waiters: [UInt64: AnyWaiter<Void>] = [:]
    var listeners: [UInt64: @Sendable () -> Void] = [:]
    var nextID: UInt64 = 0
    /// Called when somebody begins to wait while records are unsynced.
    var onAwaited: @Sendable () -> Void = {}
    /// In a reading process: the transactions that the snapshot was made from.
    var seenCatalog = -1
    var seenLive = -1
  }

  let name: String
  let id: UInt64
  let partitions: Int
  let directory: String
  let core: LogCore
  /// `options.maximumRecordBytes`, without a lock for every append.
  let recordLimit: Atomic<Int>
  let compression: CompressionSetting
  /// Records that were acknowledged and are in the journal only; readers see them once they are synced.
  let unsynced = Atomic<Int>(0)
  /// What opening the topic found in its journal.
  let recovery = Mutex<JournalRecovery?>(nil)
  private let state: Mutex<State>

  init(
    name: String, record: TopicRecord, segments: [SegmentRecord], tail: SegmentTail?, core: LogCore
  ) {
    self.name = name
    id = record.id
    partitions = record.options.partitions
    directory = core.directory + "/" + name
    self.core = core
    recordLimit = Atomic(record.options.maximumRecordBytes)
    compression = CompressionSetting(record.options.compression)
    let ends = tail?.nextOffsets ?? segments.last?.starts ?? []
    let sequence = tail?.nextSequence ?? segments.last?.firstSequence ?? 0
    state = Mutex(
      State(
        snapshot: Snapshot(segments: segments, ends: ends, endSequence: sequence), options: record.options))
  }

  var options: TopicOptions {
    get { state.withLock { $0.options } }
    set {
      state.withLock { $0.options = newValue }
      recordLimit.store(newValue.maximumRecordBytes, ordering: .relaxed)
      compression.set(newValue.compression)
    }
  }

  var mapBytes: Int { core.options.segmentMapBytes ?? options.segmentBytes * 2 + (256 << 20) }

  func path(of number: UInt64) -> String { directory + "/" + LogFiles.segmentName(number) }

  /// What there is, or why nothing can be read any more.
  func snapshot() throws(EventLogError) -> Snapshot {
    if !core.isWritable { try refresh() }
    let (snapshot, ending) = state.withLock { ($0.snapshot, $0.ending) }
    if let ending { throw ending }
    return snapshot
  }

  /// The open file of `record`'s segment.
  func file(of record: SegmentRecord) throws(EventLogError) -> SegmentFile {
    let access = access(to: record)
    do {
      return try open(record, access)
    } catch {
      // Sealed in between, and opened as such by somebody who looked later.
      let now = self.access(to: record)
      if now == access { throw error }
      return try open(record, now)
    }
  }

  private func open(_ record: SegmentRecord, _ access: Environment.Access) throws(EventLogError) -> SegmentFile {
    let path = path(of: record.number)
    let mapBytes = mapBytes
    return try core.pool.segment(path) { () throws(EventLogError) in
      try SegmentFile.open(path, number: record.number, topic: name, access: access, mapBytes: mapBytes)
    }
  }

  /// In the writer's process every segment but the live one is sealed by now, whatever an older snapshot says, and the
  /// live one is opened for writing by whoever comes first: who opens it otherwise shuts the writer out.
  private func access(to record: SegmentRecord) -> Environment.Access {
    if !core.isWritable { return record.isSealed ? .sealed : .readOnly }
    return state.withLock { $0.snapshot.segments.last?.number } == record.number ? .readWrite : .sealed
  }

  // MARK: The writer's side

  /// Publishes a durable commit and wakes those who wait for news.
  func publish(ends: [Int64], sequence: UInt64) {
    notify { state in
      state.snapshot.ends = ends
      state.snapshot.endSequence = sequence
    }
  }

  func publish(segments: [SegmentRecord]) { notify { $0.snapshot.segments = segments } }

  /// Ends everything: readers and waiters get `error`.
  func end(_ error: EventLogError) { notify { $0.ending = $0.ending ?? error } }

  private func notify(_ change: (inout State) -> Void) {
    let (waiters, listeners) = state.withLock { state in
      change(&state)
      defer { state.waiters = [:] }
      return (state.waiters, state.listeners)
    }
    for waiter in waiters.values { waiter.resume(.success(())) }
    for listener in listeners.values { listener() }
  }

  var hasUnsynced: Bool { unsynced.load(ordering: .sequentiallyConsistent) > 0 }

  /// Whether anybody waits for news.
  var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty || !$0.listeners.isEmpty } }

  func onAwaited(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onAwaited = action } }

  // MARK: The readers' side

  /// After somebody began to wait: what is unsynced should soon be.
  private func demand() {
    if hasUnsynced { state.withLock { $0.onAwaited }() }
  }

  /// Resumes `waiter` at the next news after the sequence `seen`; returns an id to cancel it by, nil if resumed now.
  func wait(after seen: UInt64, _ waiter: AnyWaiter<Void>) -> UInt64? {
    let id = state.withLock { state -> UInt64? in
      if state.snapshot.endSequence != seen || state.ending != nil { return nil }
      state.nextID += 1
      state.waiters[state.nextID] = waiter
      return state.nextID
    }
    if id == nil { waiter.resume(.success(())) } else { demand() }
    return id
  }

  /// Resumes a waiter now, if it still waits.
  func cancelWait(_ id: UInt64) {
    let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
    waiter?.resume(.success(()))
  }

  func addListener(_ listener: @escaping @Sendable () -> Void) -> UInt64 {
    let id = state.withLock { state in
      state.nextID += 1
      state.listeners[state.nextID] = listener
      return state.nextID
    }
    demand()
    return id
  }

  func removeListener(_ id: UInt64) {
    let listener = state.withLock { $0.listeners.removeValue(forKey: id) }
    withExtendedLifetime(listener) {}
  }

  /// In another process than the writer's: looks for new segments and new batches. Cheap if there is nothing new.
  private func refresh() throws(EventLogError) {
    do {
      try refreshOnce()
    } catch  where error.code == .missingSegment {
      // It may have been sealed and removed between a look at the catalogue and one at the file.
      try refreshOnce()
    }
  }

  private func refreshOnce() throws(EventLogError) {
    let catalog = core.catalog
    let catalogTransaction = catalog.environment.lastTransactionID
    var (snapshot, seenCatalog, seenLive) = state.withLock { ($0.snapshot, $0.seenCatalog, $0.seenLive) }
    let isStale = catalogTransaction != seenCatalog
    if isStale {
      guard let segments = try catalog.segments(of: id, named: name) else {
        end(EventLogError(.topicDeleted, "the topic was deleted", topic: name))
        for segment in snapshot.segments { core.pool.forget(path(of: segment.number)) }
        return
      }
      snapshot.segments = segments
    }
    guard let live = snapshot.segments.last else { return }
    let file = try file(of: live)
    let liveTransaction = file.environment.lastTransactionID
    if !isStale && liveTransaction == seenLive { return }
    var tail = SegmentTail(beginning: live)
    if snapshot.endSequence >= live.firstSequence {
      tail.nextSequence = max(tail.nextSequence, snapshot.endSequence)
      tail.nextOffsets = zip(snapshot.ends, live.starts).map { max($0, $1) }
    }
    do {
      try file.advance(&tail)
    } catch {
      throw EventLogError(wrapping: error, "looking for new batches failed", topic: name)
    }
    let (endSequence, ends) = (tail.nextSequence, tail.nextOffsets)
    let segments = snapshot.segments
    var gone: [UInt64] = []
    notify { state in
      // Another thread may have looked later than we did.
      guard state.seenCatalog <= catalogTransaction, state.snapshot.endSequence <= endSequence else { return }
      if isStale {
        let kept = Set(segments.map(\.number))
        gone = state.snapshot.segments.map(\.number).filter { !kept.contains($0) }
      }
      state.snapshot = Snapshot(segments: segments, ends: ends, endSequence: endSequence)
      state.seenCatalog = catalogTransaction
      state.seenLive = liveTransaction
    }
    // Their space is given back when the last one lets go.
    for number in gone { core.pool.forget(path(of: number)) }
  }
}
