public import Bytes
import Glibc

/// How a log is opened.
public struct LogOptions: Sendable {
  public enum Access: Sendable {
    /// Reading and writing: one handle at a time, in one process.
    case readWrite
    /// Reading beside the process that writes. Needs write access to the lock files.
    case readOnly
  }

  public enum DamagePolicy: Sendable {
    /// A missing or truncated segment refuses to open.
    case refuse
    /// It opens; reading what is missing throws, `verify` names it.
    case report
  }

  public var access: Access
  /// Bytes of records that may wait for the writer or be in its commit, per topic; beyond it the log says it is full.
  public var maximumPendingBytes: Int
  /// Open batches are closed at this size in bytes.
  public var batchBytes: Int
  /// The writer starts by itself when so many bytes wait. What waits then goes into one commit, up to twice as much
  /// (or one batch): the longer the last commit took, the larger the next.
  public var commitBytes: Int
  /// How long the writer, when it was idle, waits after the first append that awaits its result, so that more come into
  /// the same commit; it starts earlier when `commitBytes` wait or somebody flushes. Zero, the default: it starts at
  /// once, and what comes while it writes goes into the next commit. Up to an hour.
  public var linger: Duration
  /// How long what was sent or enqueued, or handed over by an appender, waits at most until the writer starts although
  /// nobody flushes; a longer `linger` counts instead. Up to an hour.
  public var flushDelay: Duration
  /// How many idempotent producers a topic remembers, counted per partition in which they appended, and once more if
  /// they have a name; each takes about 200 bytes of memory and of every segment. Beyond it those are forgotten that
  /// did nothing for `producerExpiry`; while there are none of these, new ones are refused with `tooManyProducers`.
  public var maximumProducers: Int
  /// How long a producer is remembered at least, however many there are. Below `maximumProducers` none is forgotten.
  public var producerExpiry: Duration
  /// How many segments are open at most, over all topics, live and sealed, beside those that somebody is in the middle
  /// of. A live one takes three descriptors and about 7 MB, a sealed one a descriptor and little memory. A topic that
  /// was not used for longest lets go of its segment and opens it again on use, which costs below a
  /// millisecond.
  public var maximumOpenSegments: Int
  /// The most memory that compactions take to know each key's latest offset, in bytes: 24 for a key and its own size,
  /// up to half as much again for free places. With more keys than that a compaction goes over the log several times.
  public var compactionBytes: Int
  /// How often readers in another process than the writer's look for new records.
  public var pollInterval: Duration
  public var damage: DamagePolicy
  /// The time, for ages of segments; replaced in tests.
  public var clock: @Sendable () -> Timestamp
  /// The size limit of a segment's file; nil for one that is never reached.
  package var segmentMapBytes: Int?
  /// Called before each commit of records: what it throws fails the commit.
  package var fault: (@Sendable () throws -> Void)?
  /// What runs delays; nil for a thread of the log's own.
  package var timer: (any DelayScheduler)?
  /// Called at each step of compactions, on their thread; what it throws ends them. For tests.
  package var onCompactionStep: (@Sendable (CompactionStep) throws -> Void)?

  public init(
    access: Access = .readWrite, maximumPendingBytes: Int = 64 << 20, batchBytes: Int = 128 << 10,
    commitBytes: Int = 1 << 20, linger: Duration = .zero, flushDelay: Duration = .milliseconds(10),
    maximumProducers: Int = 1_000_000, producerExpiry: Duration = .seconds(7 * 86_400), maximumOpenSegments: Int = 64,
    compactionBytes: Int = 64 << 20, pollInterval: Duration = .milliseconds(10),
    damage: DamagePolicy = .refuse, clock: @escaping @Sendable () -> Timestamp = LogOptions.systemTime
  ) {
    self.access = access
    self.maximumPendingBytes = maximumPendingBytes
    self.batchBytes = batchBytes
    self.commitBytes = commitBytes
    self.linger = linger
    self.flushDelay = flushDelay
    self.maximumProducers = maximumProducers
    self.producerExpiry = producerExpiry
    self.maximumOpenSegments = maximumOpenSegments
    self.compactionBytes = compactionBytes
    self.pollInterval = pollInterval
    self.damage = damage
    self.clock = clock
  }

  /// The system's clock.
  public static let systemTime: @Sendable () -> Timestamp = {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }

  /// The most bytes of a commit: far below the number of pages at which LMDB spills.
  static let maximumCommitBytes = 32 << 20

  /// The most bytes of records that are appended together: each counts 24 bytes besides its key, value and headers.
  static let maximumGroupBytes = 32 << 20

  func validate() throws(EventLogError) {
    func check(_ isValid: Bool, _ rule: String) throws(EventLogError) {
      if !isValid { throw EventLogError(.invalidOptions, rule) }
    }
    try check((1024...(16 << 20)).contains(batchBytes), "batchBytes is 1 KiB to 16 MiB, not \(batchBytes)")
    try check(
      (1...Self.maximumCommitBytes).contains(commitBytes), "commitBytes is 1 to 32 MiB, not \(commitBytes)")
    try check(maximumPendingBytes >= 1024, "maximumPendingBytes is at least 1 KiB, not \(maximumPendingBytes)")
    let delays = Duration.zero...Duration.seconds(3600)
    try check(delays.contains(linger), "linger is zero to an hour, not \(linger)")
    try check(delays.contains(flushDelay), "flushDelay is zero to an hour, not \(flushDelay)")
    try check(maximumProducers >= 1, "maximumProducers is at least 1, not \(maximumProducers)")
    try check(producerExpiry >= .zero, "producerExpiry is not negative")
    try check(maximumOpenSegments >= 1, "maximumOpenSegments is at least 1, not \(maximumOpenSegments)")
    try check(
      (4096...(2 << 30)).contains(compactionBytes), "compactionBytes is 4 KiB to 2 GiB, not \(compactionBytes)")
    try check(pollInterval > .zero, "pollInterval is positive")
  }
}
