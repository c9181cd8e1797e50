public import Dataflow

extension Store {
  /// Runs `job` from its last checkpoint until it is stopped, comes to its end, or fails for good.
  ///
  /// Cancelling the task is a graceful stop: a last checkpoint, then it returns. What the job sent to topics is there
  /// when it returns. Subtasks have threads of their own; the cooperative pool is never blocked.
  ///
  /// - Throws: `DataflowError`; the last checkpoint is intact whatever is thrown. `alreadyRunning`; `duplicateOwner`
  ///   naming view and column if another running job writes it. `StoreError.readOnly`, `closed`. What keeps the job's
  ///   records from their topic: they stay in the store and are tried again.
  @discardableResult
  public func run(_ job: Job, _ options: RunOptions = RunOptions()) async throws -> RunOutcome {
    try await run(try runner(for: job, options))
  }

  /// Runs a job by its runner, which can be stopped and asked for its figures.
  @discardableResult
  public func run(_ runner: JobRunner) async throws -> RunOutcome {
    try requireWriter("run a job")
    let outcome = try await runner.run()
    try await outbox.settle(job: runner.job.name)
    return outcome
  }

  /// What runs `job`: to be given to `run`, stopped, and asked for figures.
  public func runner(for job: Job, _ options: RunOptions = RunOptions()) throws -> JobRunner {
    try requireWriter("run a job")
    return JobRunner(job, checkpoints: checkpoints, options: options)
  }

  /// Every job that ever ran here, with its last checkpoint, positions and states.
  public func jobs() throws -> [JobRecord] { try checkpoints.jobs() }

  /// Forgets positions and state of the job called `name`, which must not run: it begins anew at its next run. What its
  /// sinks wrote stays. Blocks for a commit.
  public func reset(job name: String) throws {
    try requireWriter("reset a job")
    try checkpoints.reset(name)
  }
}
