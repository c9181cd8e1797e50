public import Bytes

/// What the store knows of a job: the last checkpoint's positions and times, and where its states lie.
public struct JobRecord: Sendable, Hashable {
  /// How the last run left the job.
  public enum Status: UInt8, Sendable {
    /// A run is on, or ended without its last checkpoint.
    case running = 0
    /// Stopped with a last checkpoint; it can go on.
    case stopped = 1
    /// Everything pending was fired; it cannot go on.
    case drained = 2
  }

  /// Where a partition of a source stands.
  public struct Partition: Sendable, Hashable {
    /// The next position to read.
    public var position: Int64
    public var watermark: Timestamp
    /// Whether it was left out of the minimum because nothing came.
    public var isIdle: Bool

    public init(position: Int64, watermark: Timestamp, isIdle: Bool) {
      self.position = position
      self.watermark = watermark
      self.isIdle = isIdle
    }
  }

  /// A state and its table.
  public struct State: Sendable, Hashable {
    public var declaration: StateDeclaration
    /// Given once, never again.
    public var table: UInt32
  }

  public var name: String
  /// Given once, never again.
  public var id: UInt64
  /// Grows when a job is restored or reset: what an older incarnation still sends is refused.
  public var incarnation: UInt64
  public var status: Status
  /// The job's last committed epoch.
  public var epoch: UInt64
  /// The store-wide number of the checkpoint that holds it.
  public var checkpoint: UInt64
  /// When it was committed.
  public var time: Timestamp
  public var parallelism: Int
  public var states: [State]
  /// By source name, one element per partition.
  public var sources: [String: [Partition]]
  /// Event time by operator name.
  public var watermarks: [String: Timestamp]
}
