import Bytes
import Synchronization

/// Sends a run's barriers, gathers what its subtasks sealed, gives whole epochs to the store. Called from any thread.
final class EpochCoordinator: Sendable {
  private struct State {
    var machine: EpochMachine
    var seals: [SubtaskSeal] = []
    var failure: (any Error)?
    var begunAt: [UInt64: Int64] = [:]
    var metrics = CheckpointMetrics()
  }

  private let state: Mutex<State>
  private let begun: Atomic<UInt64>
  private let committed: Atomic<UInt64>
  private let aborted = Atomic<Bool>(false)
  private let activity = Atomic<Int>(0)
  private let complete = Atomic<Bool>(false)
  private let isHurried = Atomic<Bool>(false)
  private let bells: [Doorbell]
  private let checkpoints: CheckpointStore
  private let lane = CommitLane()
  private let clock: any RuntimeClock
  private let job: String
  private let sources: [any SourceNode]
  private let parallelism: Int

  init(
    job: Job, checkpoints: CheckpointStore, options: RunOptions, epoch: UInt64, bells: [Doorbell]
  ) {
    self.job = job.name
    self.checkpoints = checkpoints
    self.bells = bells
    clock = options.clock
    sources = job.graph.sources
    parallelism = options.parallelism
    begun = Atomic(epoch)
    committed = Atomic(epoch)
    state = Mutex(
      State(
        machine: EpochMachine(
          parallelism: options.parallelism, trigger: options.checkpoints, drains: options.mode.kind == .drain,
          epoch: epoch, now: options.clock.now)))
  }

  // MARK: What subtasks read, cheaply

  /// The epoch whose barrier was sent last.
  var begunEpoch: UInt64 { begun.load(ordering: .acquiring) }
  /// The epoch that is durable.
  var committedEpoch: UInt64 { committed.load(ordering: .acquiring) }
  /// Whether the run failed: everybody leaves.
  var isAborted: Bool { aborted.load(ordering: .acquiring) }
  var failure: (any Error)? { state.withLock { $0.failure } }
  /// How the epoch begun last ends.
  var end: EpochEnd { state.withLock { $0.machine.end } }
  /// Whether that epoch ends at the sources' ends: what is under way is waited for.
  var isComplete: Bool { complete.load(ordering: .acquiring) }
  var metrics: CheckpointMetrics { state.withLock { $0.metrics } }

  /// Counts what a checkpoint would have to keep.
  func noteActivity(_ count: Int) { activity.add(count, ordering: .relaxed) }

  /// Memory is short: the next barrier should not wait for its time.
  func hurry() {
    if !isHurried.exchange(true, ordering: .relaxed) { bells[0].ring() }
  }

  // MARK: What drives it

  /// Sends a barrier if one is due; returns when to call again.
  @discardableResult
  func tick(now: Int64) -> Int64 {
    let (epoch, next) = state.withLock { state in
      let epoch = state.machine.begin(
        now: now, activity: activity.load(ordering: .relaxed), isHurried: isHurried.load(ordering: .relaxed))
      if let epoch {
        state.begunAt[epoch] = now
        complete.store(state.machine.isComplete, ordering: .releasing)
        isHurried.store(false, ordering: .relaxed)
      }
      return (epoch, state.machine.nextDue)
    }
    if let epoch {
      begun.store(epoch, ordering: .releasing)
      ringAll()
    }
    return next
  }

  func stop() {
    state.withLock { $0.machine.stop() }
    ringAll()
  }

  func exhausted(_ subtask: Int) {
    state.withLock { $0.machine.exhaust(subtask) }
    ringAll()
  }

  func fail(_ error: any Error) {
    state.withLock { if $0.failure == nil { $0.failure = error } }
    aborted.store(true, ordering: .releasing)
    ringAll()
  }

  /// Takes what a subtask sealed for `epoch`; with the last one the epoch goes to the writer.
  func sealed(_ seal: SubtaskSeal, epoch: UInt64) {
    let whole: (seals: [SubtaskSeal], end: EpochEnd)? = state.withLock { state in
      state.seals.append(seal)
      guard state.machine.sealed() else { return nil }
      defer { state.seals = [] }
      return (state.seals, state.machine.end)
    }
    guard let whole else { return }
    do {
      checkpoints.submit(try gather(whole.seals, epoch, whole.end))
    } catch { fail(error) }
    // Who keeps the time may think of the next barrier again.
    bells[0].ring()
  }

  private func gather(_ seals: [SubtaskSeal], _ number: UInt64, _ end: EpochEnd) throws -> SealedEpoch {
    var positions: [String: [JobRecord.Partition]] = [:]
    for source in sources {
      let found = seals.flatMap { $0.sources[source.name] ?? [] }.sorted { $0.index < $1.index }
      positions[source.name] = found.map(\.partition)
    }
    var watermarks: [String: Timestamp] = [:]
    for seal in seals { watermarks.merge(seal.watermarks, uniquingKeysWith: max) }
    let committing = positions
    return SealedEpoch(
      job: job, number: number, end: end, parallelism: parallelism, parts: seals.flatMap(\.parts), sources: positions,
      watermarks: watermarks, time: clock.time,
      ensureDurable: { [sources] in
        for source in sources { try source.ensureDurable((committing[source.name] ?? []).map(\.position)) }
      },
      lane: lane, completed: { [self] result in completed(number, result) })
  }

  private func completed(_ epoch: UInt64, _ result: Result<UInt64, any Error>) {
    switch result {
    case .success(let checkpoint):
      let now = clock.now
      state.withLock { state in
        state.machine.commit(epoch)
        let duration = now - (state.begunAt.removeValue(forKey: epoch) ?? now)
        state.metrics.count += 1
        state.metrics.lastDuration = duration
        state.metrics.maximumDuration = max(state.metrics.maximumDuration, duration)
        state.metrics.lastCheckpoint = checkpoint
        state.metrics.lastEpoch = epoch
      }
      committed.store(epoch, ordering: .releasing)
      ringAll()
    case .failure(let error):
      state.withLock { $0.metrics.failures += 1 }
      fail(error)
    }
  }

  private func ringAll() { for bell in bells { bell.ring() } }
}
