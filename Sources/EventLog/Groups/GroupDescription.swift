public import Bytes

/// A consumer group as it is at one moment.
public struct GroupDescription: Hashable, Sendable {
  public struct Partition: Hashable, Sendable {
    public var partition: Int
    /// The next offset that the group reads; nil if it has not begun.
    public var committed: Int64?
    /// When that was committed.
    public var committedAt: Timestamp?
    /// The oldest offset that can be read, and the next to be written.
    public var startOffset: Int64
    public var endOffset: Int64
    /// Offsets behind `committed` that are finished, too.
    public var finished: OffsetRanges
    /// Offsets between what is committed (or the oldest one, if nothing is) and the end, without finished ones.
    public var lag: Int64
    /// The member that has it; known only through the log that holds the group.
    public var member: String?
  }

  public struct Topic: Hashable, Sendable {
    public var name: String
    public var id: UInt64
    public var partitions: [Partition]

    public var lag: Int64 { partitions.reduce(0) { $0 + $1.lag } }
  }

  public var name: String
  /// The number of the process that holds the group, 0 if it does not say; nil if none does.
  public var holder: Int?
  /// The topics that it has subscribed to and that are there, by name.
  public var topics: [Topic]

  public var lag: Int64 { topics.reduce(0) { $0 + $1.lag } }

  static func lag(_ committed: CommittedOffset?, _ range: Range<Int64>) -> Int64 {
    let next = max(committed?.offset ?? range.lowerBound, range.lowerBound)
    var finished = committed?.finished ?? OffsetRanges()
    finished.removeAll(below: next)
    return max(range.upperBound - next - finished.count, 0)
  }
}
