public import Bytes

/// Where a group begins in a partition in which it has committed nothing yet.
public enum StartPosition: Hashable, Sendable {
  /// At the oldest record that can be read.
  case earliest
  /// Behind the last durable record.
  case latest
  /// At the first record with this timestamp or a later one; at the end if there is none.
  case time(Timestamp)
  /// At this offset; `OutOfRangePolicy` decides if the log does not have it.
  case offset(Int64)
}

/// What becomes of a group whose next offset is not in the log: retention has removed it, or the log is another one.
public enum OutOfRangePolicy: Hashable, Sendable {
  /// Reading throws `offsetOutOfRange` with the valid range. The default: nothing is passed over unseen.
  case fail
  /// It goes on at the oldest record; the jump is committed, counted and reported.
  case earliest
  /// It goes on behind the last record; the jump is committed, counted and reported.
  case latest
}

/// A group that did not find the offset at which it wanted to go on, and went on elsewhere, as its policy says.
public struct OffsetJump: Hashable, Sendable {
  public var topic: String
  public var partition: Int
  /// Where it wanted to go on, and where it did.
  public var from: Int64
  public var to: Int64
  /// What the log held then.
  public var validRange: Range<Int64>
}

/// How one member of a group consumes a topic.
public struct SubscriptionOptions: Sendable {
  /// Where to begin in partitions in which the group has committed nothing. Decided once: the place is committed.
  public var start: StartPosition
  public var outOfRange: OutOfRangePolicy
  /// Whether to wait for more at the end. Otherwise consuming ends with what is durable at the subscription.
  public var tailing: Bool
  /// What to do with batches that cannot be read; what was skipped is in `Subscription.skipped`.
  public var damage: LogReader.DamagePolicy
  /// What the member is called in descriptions of the group; nil for its number.
  public var memberName: String?
  /// How long another member waits for this one to finish what it was given of a partition that goes over to it.
  /// After that the partition is taken away: late commits are refused with `commitFenced`.
  public var revocationTimeout: Duration
  /// Called for every jump, on the thread that reads.
  public var onJump: (@Sendable (OffsetJump) -> Void)?
  /// By which it waits; replaced in tests.
  public var clock: GroupClock

  public init(
    start: StartPosition = .earliest, outOfRange: OutOfRangePolicy = .fail, tailing: Bool = true,
    damage: LogReader.DamagePolicy = .refuse, memberName: String? = nil,
    revocationTimeout: Duration = .seconds(30), onJump: (@Sendable (OffsetJump) -> Void)? = nil,
    clock: GroupClock = .system
  ) {
    self.start = start
    self.outOfRange = outOfRange
    self.tailing = tailing
    self.damage = damage
    self.memberName = memberName
    self.revocationTimeout = revocationTimeout
    self.onJump = onJump
    self.clock = clock
  }

  func validate() throws(EventLogError) {
    if revocationTimeout <= .zero { throw EventLogError(.invalidOptions, "revocationTimeout is positive") }
    if case .offset(let offset) = start, offset < 0 {
      throw EventLogError(.invalidOptions, "an offset to start at is not negative, as \(offset) is")
    }
  }
}
