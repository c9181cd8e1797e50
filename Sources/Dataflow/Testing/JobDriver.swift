import Glibc

/// Runs a job step by step on the calling thread: for tests that need the same run again from the same seed, or stop
/// in the middle.
///
/// Subtasks take turns in an order that `choose` decides. Checkpoints are real: they go through the store's writer,
/// which is waited for after every step.
public final class JobDriver {
  private let run: RunContext
  private var subtasks: [Subtask]
  private var finished: Set<Int> = []
  private let checkpoints: CheckpointStore
  private let job: Job
  private var isOpen = true
  /// Given the number of subtasks that can go on, says which does.
  private let choose: (Int) -> Int

  /// Starts the job from its last checkpoint.
  public init(
    _ job: Job, checkpoints: CheckpointStore, options: RunOptions = RunOptions(),
    choose: @escaping (Int) -> Int = { _ in 0 }
  ) throws {
    var options = options
    // Time stands still: nothing may wait for it.
    options.linger = .zero
    try options.validate(job: job.name)
    try checkpoints.begin(job.name, owning: job.ownedResources)
    self.job = job
    self.checkpoints = checkpoints
    self.choose = choose
    do {
      var ends: [String: [Int64]] = [:]
      if options.mode.isBounded {
        for source in job.graph.sources { ends[source.name] = try source.endPositions() }
      }
      run = try RunContext(job, options, checkpoints, try checkpoints.register(job, options), ends: ends)
      subtasks = try (0..<options.parallelism).map { [run] in try Subtask(run, index: $0) }
    } catch {
      checkpoints.end(job.name)
      throw error
    }
  }

  deinit { crash() }

  /// Whether the run came to its end.
  public var isFinished: Bool { finished.count == subtasks.count }

  /// Lets one subtask do one step; returns whether anything was done anywhere.
  @discardableResult
  public func step() throws -> Bool {
    var candidates = subtasks.indices.filter { !finished.contains($0) }
    while !candidates.isEmpty {
      let index = candidates.remove(at: choose(candidates.count))
      switch try subtasks[index].step() {
      case .worked:
        checkpoints.settle()
        return true
      case .finished:
        finished.insert(index)
        return true
      case .idle: continue
      }
    }
    checkpoints.settle()
    if let failure = run.coordinator.failure { throw failure }
    // What is missing may come from an asynchronous call, which needs a processor.
    usleep(50)
    return false
  }

  /// Steps until nothing is left to do, or the run ended.
  public func runUntilIdle() throws {
    while !isFinished {
      let committed = run.coordinator.committedEpoch
      if try !step() && run.coordinator.committedEpoch == committed {
        if let failure = run.coordinator.failure { throw failure }
        return
      }
    }
    if let failure = run.coordinator.failure { throw failure }
  }

  /// Asks for a graceful end and steps to it.
  public func stop() throws {
    run.coordinator.stop()
    while !isFinished { try step() }
    close()
    if let failure = run.coordinator.failure { throw failure }
  }

  /// Drops everything in memory, as a crash would: what was not committed is gone.
  public func crash() {
    run.coordinator.fail(DataflowError(.stopped, job.name, "crashed on purpose"))
    close()
  }

  private func close() {
    guard isOpen else { return }
    isOpen = false
    checkpoints.settle()
    for subtask in subtasks { subtask.close() }
    checkpoints.end(job.name)
  }

  /// Where event time stands and which partition holds it back.
  public var watermarkReport: WatermarkReport { run.watermarkReport }

  /// The figures so far.
  public var metrics: JobMetrics {
    JobMetrics(job: job.name, operators: run.operatorMetrics, checkpoints: run.coordinator.metrics, restarts: 0)
  }
}
