import Bytes
import LMDB
import Synchronization

/// How a run ended.
public enum RunOutcome: Sendable, Hashable {
  /// By `stop`, or at the sources' ends: it can go on.
  case stopped
  /// Drained: everything pending was fired.
  case drained
}

/// Runs a job over a checkpoint store: from its last checkpoint, until it is stopped, ends or fails.
///
/// Costs nothing until it runs. One run at a time; it may be run again after.
public final class JobRunner: Sendable {
  private struct State {
    var attempt: RunContext?
    var isStopping = false
    var restarts = 0
    var lastMetrics: JobMetrics?
  }

  public let job: Job
  public let options: RunOptions
  private let checkpoints: CheckpointStore
  private let state = Mutex(State())
  private let stopBell = Doorbell()

  public init(_ job: Job, checkpoints: CheckpointStore, options: RunOptions = RunOptions()) {
    self.job = job
    self.options = options
    self.checkpoints = checkpoints
  }

  /// Runs until stopped, ended or failed. Cancelling the task is `stop`. Never blocks the cooperative pool: subtasks
  /// have threads of their own.
  ///
  /// - Throws: `DataflowError`, after the restart policy gave up. The last checkpoint is intact whatever is thrown.
  @discardableResult
  public func run() async throws -> RunOutcome {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        OSThread.start(name: "millrace-job") { [self] in continuation.resume(with: Result { try runBlocking() }) }
      }
    } onCancel: {
      stop()
    }
  }

  /// As `run`, on the calling thread, which waits.
  @discardableResult
  public func runBlocking() throws -> RunOutcome {
    try options.validate(job: job.name)
    try checkpoints.begin(job.name, owning: job.ownedResources)
    defer {
      checkpoints.end(job.name)
      // A stop belongs to one run.
      state.withLock { $0.isStopping = false }
    }
    let ends = try bounds()
    var policy = RestartPolicy.State(options.restart)
    while true {
      let started = options.clock.now
      do {
        return try attempt(ends)
      } catch {
        let error = typed(error)
        guard !isFinal(error), !isStopping, let delay = failure(&policy, since: started)
        else { throw error }
        state.withLock { $0.restarts += 1 }
        sleep(delay)
        if isStopping { throw error }
      }
    }
  }

  /// Asks for a graceful end: a last checkpoint, then `run` returns. Returns at once. A run that has not begun yet ends
  /// with its first checkpoint.
  public func stop() {
    let attempt = state.withLock { state in
      state.isStopping = true
      return state.attempt
    }
    attempt?.coordinator.stop()
    stopBell.ring()
  }

  /// The figures of the run under way, or of the last one.
  public var metrics: JobMetrics? {
    state.withLock { state in
      if let attempt = state.attempt {
        state.lastMetrics = JobMetrics(
          job: job.name, operators: attempt.operatorMetrics, checkpoints: attempt.coordinator.metrics,
          restarts: state.restarts)
      }
      return state.lastMetrics
    }
  }

  /// Where the event time of the run under way stands and which partition holds it back; nil between runs.
  public var watermarkReport: WatermarkReport? {
    state.withLock { $0.attempt }?.watermarkReport
  }

  private func failure(_ policy: inout RestartPolicy.State, since start: Int64) -> Int64? {
    let now = options.clock.now
    return policy.failed(afterRunning: now - start, at: now, chance: options.chance())
  }

  private var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Where a bounded run ends: found once, so that a restart ends there too.
  private func bounds() throws -> [String: [Int64]] {
    guard options.mode.isBounded else { return [:] }
    var ends: [String: [Int64]] = [:]
    for source in job.graph.sources { ends[source.name] = try source.endPositions() }
    return ends
  }

  /// An error of a layer below, met outside of any operator, as one of the job.
  private func typed(_ error: any Error) -> DataflowError {
    if let error = error as? DataflowError { return error }
    return DataflowError(
      .storeFailed, job.name, "the job could not read or write its store; the last checkpoint is intact", cause: error,
      isRetriable: (error as? LMDBError)?.isRetriable ?? false)
  }

  /// What no new attempt can cure.
  private func isFinal(_ error: DataflowError) -> Bool {
    let final: [DataflowError.Code] = [
      .unmappedState, .unknownState, .stateMismatch, .unknownSource, .sourceChanged, .drained, .newerFormat, .damaged,
      .stopped, .duplicateName,
    ]
    return final.contains(error.code)
  }

  private func attempt(_ ends: [String: [Int64]]) throws -> RunOutcome {
    let recovered = try checkpoints.register(job, options)
    let run = try RunContext(job, options, checkpoints, recovered, ends: ends)
    let stopsAtOnce = state.withLock { state in
      state.attempt = run
      return state.isStopping
    }
    if stopsAtOnce { run.coordinator.stop() }
    defer {
      _ = metrics
      state.withLock { $0.attempt = nil }
    }
    let ended = Semaphore()
    for index in 0..<run.parallelism {
      OSThread.start(name: "mr-\(job.name)-\(index)") {
        SubtaskThread(run, index: index).main()
        ended.signal()
      }
    }
    for _ in 0..<run.parallelism { ended.wait() }
    // What was sealed whole may still be committed: a new attempt must begin after it.
    checkpoints.settle()
    if let failure = run.coordinator.failure { throw failure }
    return run.coordinator.end == .drain ? .drained : .stopped
  }

  private func sleep(_ delay: Int64) {
    let until = options.clock.now.saturatingAdd(delay)
    while !isStopping {
      let left = until - options.clock.now
      if left <= 0 { return }
      // A clock that is moved by hand rings no bell: look now and then.
      stopBell.wait(microseconds: min(left, 20_000))
    }
  }
}

/// The loop of one subtask's thread.
struct SubtaskThread {
  private let run: RunContext
  private let index: Int
  /// The longest sleep: bounds what a lost wake-up of a source could cost.
  private static let longestSleep: Int64 = 1_000_000

  init(_ run: RunContext, index: Int) {
    self.run = run
    self.index = index
  }

  func main() {
    do {
      let subtask = try Subtask(run, index: index)
      defer { subtask.close() }
      while true {
        switch try subtask.step() {
        case .worked: continue
        case .finished: return
        case .idle(let until):
          let left = until == .max ? Self.longestSleep : until - run.options.clock.now
          run.bells[index].wait(microseconds: min(max(left, 0), Self.longestSleep))
        }
      }
    } catch {
      run.coordinator.fail(error)
    }
  }
}
