import Bytes

/// How far a run goes.
public struct RunMode: Sendable, Hashable {
  enum Kind: Sendable { case unbounded, toEnd, drain }
  let kind: Kind

  /// Until it is stopped.
  public static let unbounded = RunMode(kind: .unbounded)
  /// To the sources' ends as of the start, then as if stopped there: watermarks stay, the job can go on later.
  public static let toEnd = RunMode(kind: .toEnd)
  /// To the sources' ends as of the start, then everything pending fires. The job cannot go on unless it is reset.
  public static let drain = RunMode(kind: .drain)

  var isBounded: Bool { kind != .unbounded }
}

/// When a job's epochs end.
public struct CheckpointTrigger: Sendable, Hashable {
  let interval: Int64?
  let records: Int?

  /// Every `interval`, if there was anything to checkpoint.
  public static func every(_ interval: Duration) -> CheckpointTrigger {
    CheckpointTrigger(interval: max(1, interval.wholeMicroseconds), records: nil)
  }
  /// Whenever the sources delivered `count` more records, over all subtasks, at the next end of a batch.
  public static func everyRecords(_ count: Int) -> CheckpointTrigger {
    CheckpointTrigger(interval: nil, records: max(1, count))
  }
  /// Only at the end of the run.
  public static let atEnd = CheckpointTrigger(interval: nil, records: nil)
}

/// The settings of a run.
public struct RunOptions: Sendable {
  public var mode: RunMode
  /// Threads, 1…128. State and positions move along when it changes from run to run.
  public var parallelism: Int
  public var checkpoints: CheckpointTrigger
  public var restart: RestartPolicy
  /// States, and sources, that the store holds for the job and the job no longer has: deleted at the start.
  public var dropping: Set<String>
  /// States that are called differently now: old name to new name.
  public var renaming: [String: String]
  /// The most records that a source delivers at once.
  public var batchSize: Int
  /// Records that may wait from one subtask to another before the sender pauses (exceeded by one batch at most).
  public var queueLimit: Int
  /// How long records wait for company before they are sent to another subtask.
  public var linger: Duration
  /// Bytes of memory for each keyed state of a subtask before committed entries are evicted.
  public var stateMemory: Int
  public var clock: any RuntimeClock
  /// Numbers from 0 up to 1 by which delays are moved; for tests.
  public var chance: @Sendable () -> Double = { Double.random(in: 0..<1) }

  public init(
    mode: RunMode = .unbounded, parallelism: Int = 1, checkpoints: CheckpointTrigger = .every(.milliseconds(100)),
    restart: RestartPolicy = .none, dropping: Set<String> = [], renaming: [String: String] = [:],
    batchSize: Int = 4096, queueLimit: Int = 16_384, linger: Duration = .milliseconds(1), stateMemory: Int = 256 << 20,
    clock: any RuntimeClock = SystemClock()
  ) {
    self.mode = mode
    self.parallelism = parallelism
    self.checkpoints = checkpoints
    self.restart = restart
    self.dropping = dropping
    self.renaming = renaming
    self.batchSize = batchSize
    self.queueLimit = queueLimit
    self.linger = linger
    self.stateMemory = stateMemory
    self.clock = clock
  }

  func validate(job: String) throws(DataflowError) {
    guard (1...KeyHash.keyGroups).contains(parallelism) else {
      throw DataflowError(.invalidArgument, job, "parallelism \(parallelism) is not between 1 and \(KeyHash.keyGroups)")
    }
    guard batchSize > 0, queueLimit > 0, stateMemory > 0 else {
      throw DataflowError(.invalidArgument, job, "batchSize, queueLimit and stateMemory must be positive")
    }
  }
}
