public import Bytes

/// What an operator did since the run, or its last restart, began, over all subtasks.
public struct OperatorMetrics: Sendable, Hashable {
  /// The operator's name, or its kind and number where it has none.
  public var name: String
  /// As "map" or "fold".
  public var kind: String
  public var recordsIn: Int
  public var recordsOut: Int
  /// Records that came after their window had been fired.
  public var late: Int
  /// Records left out by the error policy.
  public var skipped: Int
  /// Records sent to a dead-letter output by the error policy.
  public var deadLettered: Int
  /// Timers registered during the last step of a drain.
  public var discardedTimers: Int
  /// The lowest watermark of its subtasks.
  public var watermark: Timestamp

  mutating func add(_ other: OperatorMetrics) {
    recordsIn += other.recordsIn
    recordsOut += other.recordsOut
    late += other.late
    skipped += other.skipped
    deadLettered += other.deadLettered
    discardedTimers += other.discardedTimers
    watermark = min(watermark, other.watermark)
  }
}

/// What the checkpoints of a job cost since the run, or its last restart, began.
public struct CheckpointMetrics: Sendable, Hashable {
  /// Committed epochs.
  public var count = 0
  /// Attempts to commit that failed.
  public var failures = 0
  /// From barrier to commit, of the last one, in microseconds.
  public var lastDuration: Int64 = 0
  /// The longest of them.
  public var maximumDuration: Int64 = 0
  /// The store-wide number of the last one; 0 if there is none.
  public var lastCheckpoint: UInt64 = 0
  /// The job's last committed epoch.
  public var lastEpoch: UInt64 = 0
}

/// A job's figures at one moment.
public struct JobMetrics: Sendable, Hashable {
  public var job: String
  /// In the order in which the flow was written.
  public var operators: [OperatorMetrics]
  public var checkpoints: CheckpointMetrics
  /// How often the job was restarted.
  public var restarts: Int

  /// The operator called `name`.
  public func named(_ name: String) -> OperatorMetrics? { operators.first { $0.name == name } }
}
