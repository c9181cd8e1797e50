import Synchronization

/// The open batches of a topic's partitions and the full ones behind them, between those who append and the writer.
///
/// Bounded: beyond `maximumBytes` waiting or being written, nothing more is taken. Order is kept per partition.
final class AppendQueue: Sendable {
  struct Limits: Sendable {
    /// Bytes that may wait or be in a commit.
    var maximumBytes: Int
    /// A batch is closed at this size.
    var batchBytes: Int
    /// Bytes waiting at which the writer starts although nobody waits.
    var commitBytes: Int
  }

  /// How long the writer, when it is idle, waits before it starts, in nanoseconds.
  struct Delays: Sendable {
    /// After the first record that somebody waits for.
    var awaited: Int
    /// After the first one that nobody waits for.
    var unawaited: Int
    var timer: any DelayScheduler
  }

  /// How much who came wants the writer to start.
  private enum Urgency { case unawaited, awaited, now }

  /// What is to be done, once the lock is free, so that the writer starts.
  private enum Start {
    case none, now
    case later(nanoseconds: Int, turn: UInt64)
  }

  enum Acceptance: Sendable { case accepted, full }

  private struct State {
    var open: [BatchHandle?]
    var opened: [Int] = []
    var closed: [BatchHandle] = []
    /// Bytes of records in open and closed batches and in the commit that is being written.
    var bytes = 0
    var isWriting = false
    /// How often the writer has started; a delay counts only for the turn in which it began.
    var turn: UInt64 = 0
    /// The shortest delay after which the writer will start in this turn, `Int.max` for none.
    var delay = Int.max
    var anyPartition = 0
    var roomWaiters: [(id: UInt64, waiter: AnyWaiter<Void>)] = []
    var nextID: UInt64 = 0
    var refusal: EventLogError?
  }

  private let state: Mutex<State>
  let limits: Limits
  private let partitions: Int
  private let pool: BatchPool
  private let anyUnit = Atomic<UInt>(0)
  private let stamping = Atomic<Bool>(false)
  /// Counts the batches with records nobody waits for.
  let progress = AppendProgress()
  /// How often anybody came who wants the writer to start: appenders that wait, flushes.
  let arrivals = Atomic<Int>(0)
  // Set once, before the first append, by the owner.
  private let start: @Sendable () -> Void
  private let delays: Delays

  /// `start` is called when there is work and the writer is idle; it makes the writer call `take` until that is nil.
  init(
    partitions: Int, limits: Limits, delays: Delays, pool: BatchPool = BatchPool(),
    start: @escaping @Sendable () -> Void
  ) {
    self.limits = limits
    self.delays = delays
    self.partitions = partitions
    self.pool = pool
    self.start = start
    state = Mutex(State(open: Array(repeating: nil, count: partitions)))
  }

  /// Whether batches begun from now on get their timestamps at their commit.
  var isStamped: Bool {
    get { stamping.load(ordering: .relaxed) }
    set { stamping.store(newValue, ordering: .relaxed) }
  }

  deinit {
    state.withLock { state in
      for batch in state.open { batch?.free() }
      for batch in state.closed { batch.free() }
    }
  }

  /// A record on its way in: its parts lie in the caller's memory.
  @safe
  struct Record {
    let key: UnsafeRawBufferPointer
    let hasKey: Bool
    let value: UnsafeRawBufferPointer
    let timestamp: Int64
    let headers: [UInt8]
    /// Nil: wherever a batch is being filled.
    let partition: Int?
  }

  /// Puts `record` into its partition's open batch, with `waiter` (given the record's index) or to be flushed later.
  ///
  /// - Throws: once the queue was closed.
  func accept(_ record: Record, waiter: ((Int) -> AppendWaiter)? = nil) throws(EventLogError) -> Acceptance {
    let (acceptance, refusal, next) = state.withLock { state -> (Acceptance, EventLogError?, Start) in
      if let refusal = state.refusal { return (.full, refusal, .none) }
      if state.bytes >= limits.maximumBytes { return (.full, nil, wake(&state, .now)) }
      add(record, waiter, &state)
      return (.accepted, nil, wake(&state, waiter == nil ? .unawaited : .awaited))
    }
    if let refusal { throw refusal }
    go(next)
    return acceptance
  }

  /// As `accept`, without headers and with nobody waiting: the short way for volume.
  func enqueue(
    key: UnsafeRawBufferPointer, hasKey: Bool, value: UnsafeRawBufferPointer, timestamp: Int64, partition: Int?
  ) throws(EventLogError) -> Acceptance {
    let (acceptance, next) = state.withLock { state -> (Acceptance?, Start) in
      if state.refusal != nil { return (nil, .none) }
      if state.bytes >= limits.maximumBytes { return (.full, wake(&state, .now)) }
      let target = partition ?? state.anyPartition
      let batch = unsafe (state.open[target] ?? openBatch(target, &state)).pointer
      let before = unsafe batch.pointee.byteCount
      unsafe batch.pointee.append(key: key, hasKey: hasKey, value: value, timestamp: timestamp)
      unsafe batch.pointee.unawaited &+= 1
      let size = unsafe batch.pointee.byteCount
      state.bytes &+= size &- before
      if unsafe size >= limits.batchBytes || batch.pointee.count == OpenBatch.maximumCount {
        close(target, &state)
        if partition == nil { state.anyPartition = (target &+ 1) % state.open.count }
      }
      return (.accepted, wake(&state, .unawaited))
    }
    guard let acceptance else { throw state.withLock { $0.refusal } ?? EventLogError(.closed, "the log was closed") }
    go(next)
    return acceptance
  }

  private func add(_ record: Record, _ waiter: ((Int) -> AppendWaiter)?, _ state: inout State) {
    let partition = record.partition ?? state.anyPartition
    let batch = state.open[partition] ?? openBatch(partition, &state)
    let before = unsafe batch.pointer.pointee.byteCount
    let index = unsafe batch.pointer.pointee.count
    unsafe batch.pointer.pointee.append(
      key: record.key, hasKey: record.hasKey, value: record.value, timestamp: record.timestamp,
      headers: record.headers)
    if let waiter {
      unsafe batch.pointer.pointee.waiters.append(waiter(index))
    } else {
      unsafe batch.pointer.pointee.unawaited += 1
    }
    state.bytes += unsafe batch.pointer.pointee.byteCount - before
    let isFull = unsafe batch.pointer.pointee.byteCount >= limits.batchBytes
    if isFull || index + 1 == OpenBatch.maximumCount {
      close(partition, &state)
      if record.partition == nil { state.anyPartition = (partition + 1) % state.open.count }
    }
  }

  /// Moves the partition's open batch, which may not be the oldest, behind the closed ones.
  private func close(_ partition: Int, _ state: inout State) {
    guard state.open[partition] != nil else { return }
    state.opened.removeAll { $0 == partition }
    moveBehind(partition, &state)
  }

  /// Closes a batch whose partition is no longer in `opened`. Its place in `closed` is its place in `progress`.
  private func moveBehind(_ partition: Int, _ state: inout State) {
    guard let batch = state.open[partition] else { return }
    state.open[partition] = nil
    if unsafe batch.pointer.pointee.unawaited > 0 {
      unsafe batch.pointer.pointee.progress = progress
      progress.submit()
    }
    state.closed.append(batch)
  }

  private func openBatch(_ partition: Int, _ state: inout State) -> BatchHandle {
    let batch = pool.take()
    unsafe batch.pointer.pointee.reset(partition: partition, isStamped: isStamped)
    // Its header counts, too: `finished` takes away what the whole batch has.
    state.bytes += unsafe batch.pointer.pointee.byteCount
    state.open[partition] = batch
    state.opened.append(partition)
    return batch
  }

  @inline(__always)
  private func wake(_ state: inout State, _ urgency: Urgency) -> Start {
    if urgency != .unawaited { arrivals.add(1, ordering: .relaxed) }
    if state.isWriting { return .none }
    if urgency == .now || state.bytes >= limits.commitBytes { return begin(&state) }
    let delay = urgency == .awaited ? delays.awaited : delays.unawaited
    return state.delay <= delay ? .none : begin(&state, after: delay)
  }

  private func begin(_ state: inout State, after delay: Int = 0) -> Start {
    if state.closed.isEmpty && state.opened.isEmpty { return .none }
    if delay > 0 {
      state.delay = delay
      return .later(nanoseconds: delay, turn: state.turn)
    }
    state.isWriting = true
    state.turn &+= 1
    state.delay = .max
    return .now
  }

  private func go(_ next: Start) {
    switch next {
    case .none: break
    case .now: start()
    case .later(let nanoseconds, let turn):
      delays.timer.after(nanoseconds: nanoseconds) { [self] in
        go(state.withLock { $0.turn == turn ? wake(&$0, .now) : .none })
      }
    }
  }

  /// Takes a whole batch, and gives an empty one for it; nil if the queue is full (the batch stays the caller's).
  func submit(_ batch: BatchHandle) throws(EventLogError) -> BatchHandle? {
    let (replacement, refusal, next) = state.withLock { state -> (BatchHandle?, EventLogError?, Start) in
      if let refusal = state.refusal { return (nil, refusal, .none) }
      if state.bytes >= limits.maximumBytes { return (nil, nil, wake(&state, .now)) }
      // What was enqueued earlier for the same partition comes first.
      close(unsafe batch.pointer.pointee.partition, &state)
      unsafe batch.pointer.pointee.progress?.submit()
      state.bytes += unsafe batch.pointer.pointee.byteCount
      state.closed.append(batch)
      let isAwaited = unsafe !batch.pointer.pointee.waiters.isEmpty
      return (pool.take(), nil, wake(&state, isAwaited ? .awaited : .unawaited))
    }
    if let refusal { throw refusal }
    go(next)
    return replacement
  }

  /// Takes the batches of a unit, which are then written together or not at all; the caller's still if it is full.
  func submit(_ encoded: EncodedUnit, _ unit: AppendUnit) throws(EventLogError) -> Acceptance {
    let (acceptance, refusal, next) = state.withLock { state -> (Acceptance, EventLogError?, Start) in
      if let refusal = state.refusal { return (.full, refusal, .none) }
      if state.bytes >= limits.maximumBytes { return (.full, nil, wake(&state, .now)) }
      // What was enqueued earlier for the same partitions comes first.
      for batch in encoded.batches { close(unsafe batch.pointer.pointee.partition, &state) }
      for (number, batch) in encoded.batches.enumerated() {
        unsafe batch.pointer.pointee.unit = unit
        unsafe batch.pointer.pointee.continuesUnit = number > 0
        state.bytes += unsafe batch.pointer.pointee.byteCount
        state.closed.append(batch)
      }
      encoded.wasTaken()
      return (.accepted, nil, wake(&state, .awaited))
    }
    if let refusal { throw refusal }
    go(next)
    return acceptance
  }

  /// An empty batch of `partition`; given back by `giveBack`.
  func borrow(_ partition: Int) -> BatchHandle {
    let batch = pool.take()
    unsafe batch.pointer.pointee.reset(partition: partition, isStamped: isStamped)
    return batch
  }

  /// The partition for a unit's records without keys: another one for each.
  func nextPartition() -> Int {
    Int(anyUnit.add(1, ordering: .relaxed).oldValue % UInt(truncatingIfNeeded: partitions))
  }

  func giveBack(_ batch: BatchHandle) { pool.give(batch) }

  /// Starts the writer if anything waits.
  func kick() { go(state.withLock { wake(&$0, .now) }) }

  /// Resumes `waiter` when everything enqueued so far is durable or has failed.
  func flush(_ waiter: AnyWaiter<Void>) {
    let next = state.withLock { state in
      for partition in state.opened { moveBehind(partition, &state) }
      state.opened = []
      return wake(&state, .now)
    }
    go(next)
    progress.wait(waiter)
  }

  /// Resumes `waiter` when there is room again; returns an id to cancel it by, nil if resumed now.
  @discardableResult
  func waitForRoom(_ waiter: AnyWaiter<Void>) -> UInt64? {
    let id = state.withLock { state -> UInt64? in
      if state.bytes < limits.maximumBytes || state.refusal != nil { return nil }
      state.nextID += 1
      state.roomWaiters.append((state.nextID, waiter))
      return state.nextID
    }
    if id == nil { waiter.resume(.success(())) }
    return id
  }

  /// Resumes a waiter now, if it still waits.
  func cancelRoom(_ id: UInt64) {
    let waiter = state.withLock { state -> AnyWaiter<Void>? in
      guard let index = state.roomWaiters.firstIndex(where: { $0.id == id }) else { return nil }
      return state.roomWaiters.remove(at: index).waiter
    }
    waiter?.resume(.success(()))
  }

  /// The next batches to be written, oldest first, up to about `bytes` and whole units; nil, and idle, if there are
  /// none.
  func take(upTo bytes: Int) -> [BatchHandle]? {
    state.withLock { state in
      var taken: [BatchHandle] = []
      var size = 0
      var index = 0
      while index < state.closed.count,
        unsafe size < bytes || taken.isEmpty || state.closed[index].pointer.pointee.continuesUnit
      {
        size += unsafe state.closed[index].pointer.pointee.byteCount
        taken.append(state.closed[index])
        index += 1
      }
      state.closed.removeFirst(index)
      var opened = 0
      while state.closed.isEmpty, opened < state.opened.count, size < bytes || taken.isEmpty {
        moveBehind(state.opened[opened], &state)
        opened += 1
        guard let batch = state.closed.popLast() else { continue }
        size += unsafe batch.pointer.pointee.byteCount
        taken.append(batch)
      }
      state.opened.removeFirst(opened)
      if taken.isEmpty {
        state.isWriting = false
        return nil
      }
      return taken
    }
  }

  /// Takes off what was written or has failed.
  func release(_ bytes: Int) { state.withLock { $0.bytes -= bytes } }

  /// Gives back batches that were written or have failed: their memory is used again, and there may be room.
  func finished(_ batches: [BatchHandle]) {
    for batch in batches { pool.give(batch) }
    let waiters = state.withLock { state -> [(id: UInt64, waiter: AnyWaiter<Void>)] in
      guard state.bytes < limits.maximumBytes else { return [] }
      defer { state.roomWaiters = [] }
      return state.roomWaiters
    }
    for waiter in waiters { waiter.waiter.resume(.success(())) }
  }

  /// Bytes that wait or are in the commit that is being written.
  var waitingBytes: Int { state.withLock { $0.bytes } }

  /// How many wait for room.
  var waitingForRoom: Int { state.withLock { $0.roomWaiters.count } }

  /// Records that no commit has taken yet.
  var waitingRecords: Int {
    state.withLock { state in
      var count = 0
      for batch in state.closed { count += unsafe batch.pointer.pointee.count }
      for partition in state.opened { count += unsafe state.open[partition]?.pointer.pointee.count ?? 0 }
      return count
    }
  }

  /// Refuses everything from now on; what was accepted is still written.
  func close(_ refusal: EventLogError) {
    let waiters = state.withLock { state -> [(id: UInt64, waiter: AnyWaiter<Void>)] in
      state.refusal = refusal
      defer { state.roomWaiters = [] }
      return state.roomWaiters
    }
    for waiter in waiters { waiter.waiter.resume(.success(())) }
  }
}
