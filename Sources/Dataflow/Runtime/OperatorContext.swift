public import Bytes
public import LMDB
public import Tables

/// What an operator or sink on one subtask knows of its surroundings. Used on the subtask's thread.
public final class OperatorContext {
  /// The operator's name, or its kind and number where it has none.
  public let name: String
  public let job: String
  /// 0 ..< parallelism. State of key group g belongs to subtask g × parallelism / 128.
  public let subtask: Int
  public let parallelism: Int
  public let counters: OperatorCounters
  /// The run's clock.
  public let clock: any RuntimeClock
  public let checkpoints: CheckpointStore
  /// Event time at the last checkpoint, `Timestamp.min` at the first start: what is not after it is late.
  public let initialWatermark: Timestamp
  /// The greatest number of records that a stage should gather before it passes them on.
  public let batchSize: Int
  /// The memory that each keyed state may take, in bytes, before it evicts what is committed.
  public let stateMemory: Int

  /// The view of the state file that all states of the subtask read through.
  public let snapshot: StateSnapshot

  private let times: OperatorTimes
  /// The operator's side outputs, by name.
  let sides: [(name: String, collector: any SideCollecting)]
  private let stateTables: [String: TableID]
  private let register: (any CheckpointParticipant) -> Void
  private let employ: (any RegionWorker) -> Void
  private let recoveredTimes: [String: Timestamp]
  /// The run's source of chance, from 0 up to 1.
  let chance: @Sendable () -> Double
  /// Makes the subtask look around; from any thread.
  let wake: @Sendable () -> Void

  init(
    name: String, builder: SubtaskBuilder, counters: OperatorCounters, initialWatermark: Timestamp,
    times: OperatorTimes, sides: [(name: String, collector: any SideCollecting)],
    register: @escaping (any CheckpointParticipant) -> Void, employ: @escaping (any RegionWorker) -> Void
  ) {
    self.name = name
    self.job = builder.run.job.name
    self.subtask = builder.subtask
    self.parallelism = builder.run.parallelism
    self.counters = counters
    self.clock = builder.run.options.clock
    self.checkpoints = builder.run.checkpoints
    self.initialWatermark = initialWatermark
    self.batchSize = builder.run.options.batchSize
    self.stateMemory = builder.run.options.stateMemory
    self.snapshot = builder.snapshot
    self.times = times
    self.sides = sides
    self.stateTables = builder.run.recovered.tables
    self.register = register
    self.employ = employ
    recoveredTimes = builder.run.recovered.record.watermarks
    chance = builder.run.options.chance
    let bell = builder.run.bells[builder.subtask]
    wake = { bell.ring() }
  }

  /// The state file.
  public var environment: Environment { checkpoints.environment }

  /// The table of the state called `name`, one of the operator's declared states.
  public func table(of name: String) throws -> TableID {
    guard let table = stateTables[name] else {
      throw DataflowError(.unknownState, name, "operator \(self.name) did not declare this state")
    }
    return table
  }

  /// Adds what must be part of every checkpoint. Call it while the operator is made.
  public func join(_ participant: any CheckpointParticipant) { register(participant) }

  /// Adds what works without a batch. Call it while the operator is made.
  @usableFromInline
  func join(_ worker: any RegionWorker) { employ(worker) }

  /// Processing time as the operator has it, which never falls; kept in the checkpoint.
  @usableFromInline
  var processingClock: ProcessingClock {
    let name = name + "/clock"
    return ProcessingClock(clock, times.time(of: name, from: recoveredTimes[name] ?? .min))
  }

  /// Event time as the operator has it, kept in the checkpoint. For operators with a name.
  public var eventTime: OperatorTime { times.time(of: name, from: initialWatermark) }

  /// The key groups that belong to this subtask.
  public var keyGroups: Range<Int> {
    let first = (subtask * KeyHash.keyGroups + parallelism - 1) / parallelism
    let end = ((subtask + 1) * KeyHash.keyGroups + parallelism - 1) / parallelism
    return first..<end
  }

  /// Refuses a batch whose source gave it no keys though they were asked for.
  func checkKeys<Element>(of batch: borrowing Batch<Element>) throws {
    if batch.isKeyed { return }
    throw DataflowError(
      .notKeyed, name, "\(batch.count) records of job \(job) came with \(batch.keys.count) keys; use keyed(by:)")
  }

  /// The error that fails the job because of this operator.
  public func failure(_ error: any Error) -> DataflowError {
    if let error = error as? DataflowError { return error }
    return DataflowError(
      .operatorFailed, name, "its closure threw in job \(job); fix the cause, or let it skip such records",
      cause: error)
  }
}
