/// How often a record is tried, and how long to wait in between: `initialDelay`, times `factor` after each attempt, up
/// to `maximumDelay`, less a random part of up to `jitter` of it.
public struct RetryPolicy: Hashable, Sendable {
  /// All attempts together, at least 1.
  public var attempts: Int
  public var initialDelay: Duration
  public var maximumDelay: Duration
  public var factor: Double
  /// 0…1: which share of a delay is random.
  public var jitter: Double

  public init(
    attempts: Int = 5, initialDelay: Duration = .milliseconds(100), maximumDelay: Duration = .seconds(30),
    factor: Double = 2, jitter: Double = 0.5
  ) {
    self.attempts = attempts
    self.initialDelay = initialDelay
    self.maximumDelay = maximumDelay
    self.factor = factor
    self.jitter = jitter
  }

  /// One attempt, no more.
  public static let none = RetryPolicy(attempts: 1)

  /// How long to wait after `attempts` attempts have failed; `random` is 0..<1.
  func delay(after attempts: Int, random: Double) -> Duration {
    var delay = initialDelay
    var left = attempts - 1
    while left > 0, delay < maximumDelay {
      delay = min(delay * factor, maximumDelay)
      left -= 1
    }
    return min(delay, maximumDelay) * (1 - jitter * min(max(random, 0), 1))
  }
}

/// What becomes of a record on which every attempt failed.
public enum FailurePolicy: Sendable {
  /// `forEach` stops and throws `recordFailed`; the record is given again at the next start. The default.
  case fail
  /// It is left out and counted.
  case skip
  /// It is appended to another topic, with its key, value, timestamp and headers and those of `DeadLetterHeader`, and
  /// counts as finished when that is durable. The topic is one of a log opened for writing.
  case deadLetter(LogTopic)
}

/// In which order records without a key are handled.
public enum KeylessOrder: Hashable, Sendable {
  /// In none: as many at once as are allowed.
  case none
  /// One after the other in each partition.
  case partition
}

/// How `Subscription.forEach` works through records.
public struct DeliveryOptions: Sendable {
  /// How far ahead of the slowest record it may run in a partition, in records: what is finished behind it, what
  /// runs and what waits.
  public var maximumRecordsAhead: Int
  /// The same in bytes of keys, values and headers; exceeded by one record at most.
  public var maximumBytesAhead: Int
  /// Bytes that may wait in memory over all partitions; beyond it nothing is read. Exceeded by what is read at once,
  /// about 256 KiB.
  public var maximumWaitingBytes: Int
  /// Finished records are committed so often, …
  public var commitInterval: Duration
  /// … or when so many have been finished since the last commit, whichever is first.
  public var commitRecords: Int
  public var retry: RetryPolicy
  public var onFailure: FailurePolicy
  public var keyless: KeylessOrder
  /// How long running records have to finish when it stops; then their tasks are cancelled, and what they did not
  /// finish is given again later.
  public var stopTimeout: Duration
  /// A random number of 0..<1 for the jitter; replaced in tests.
  public var random: @Sendable () -> Double

  public init(
    maximumRecordsAhead: Int = 10_000, maximumBytesAhead: Int = 8 << 20, maximumWaitingBytes: Int = 64 << 20,
    commitInterval: Duration = .seconds(1), commitRecords: Int = 10_000, retry: RetryPolicy = RetryPolicy(),
    onFailure: FailurePolicy = .fail, keyless: KeylessOrder = .none, stopTimeout: Duration = .seconds(30),
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    self.maximumRecordsAhead = maximumRecordsAhead
    self.maximumBytesAhead = maximumBytesAhead
    self.maximumWaitingBytes = maximumWaitingBytes
    self.commitInterval = commitInterval
    self.commitRecords = commitRecords
    self.retry = retry
    self.onFailure = onFailure
    self.keyless = keyless
    self.stopTimeout = stopTimeout
    self.random = random
  }

  func validate(maxConcurrent: Int) throws(EventLogError) {
    func check(_ isValid: Bool, _ rule: String) throws(EventLogError) {
      if !isValid { throw EventLogError(.invalidOptions, rule) }
    }
    try check((1...10_000).contains(maxConcurrent), "maxConcurrent is 1 to 10,000, not \(maxConcurrent)")
    try check(
      (1...1_000_000).contains(maximumRecordsAhead), "maximumRecordsAhead is 1 to 1,000,000, not \(maximumRecordsAhead)"
    )
    try check(maximumBytesAhead >= 1, "maximumBytesAhead is at least 1, not \(maximumBytesAhead)")
    try check(maximumWaitingBytes >= 1, "maximumWaitingBytes is at least 1, not \(maximumWaitingBytes)")
    try check(commitInterval > .zero, "commitInterval is positive")
    try check(commitRecords >= 1, "commitRecords is at least 1, not \(commitRecords)")
    try check(stopTimeout >= .zero, "stopTimeout is not negative")
    try check(retry.attempts >= 1, "a record is tried at least once, not \(retry.attempts) times")
    try check(retry.initialDelay >= .zero && retry.maximumDelay >= .zero, "delays between attempts are not negative")
    try check(retry.factor >= 1 && retry.factor.isFinite, "the factor of delays is at least 1, not \(retry.factor)")
    try check((0...1).contains(retry.jitter), "jitter is 0 to 1, not \(retry.jitter)")
    if case .deadLetter(let topic) = onFailure { _ = try topic.requireWriter() }
  }
}

/// What `Subscription.forEach` has done so far.
public struct DeliveryCounts: Hashable, Sendable {
  /// Records that were finished, without those skipped and dead-lettered.
  public var finished = 0
  public var skipped = 0
  public var deadLettered = 0
  /// Attempts that failed and were followed by another one.
  public var retries = 0
  /// Records that were finished before the last start already and were not given again.
  public var known = 0

  public init(finished: Int = 0, skipped: Int = 0, deadLettered: Int = 0, retries: Int = 0, known: Int = 0) {
    self.finished = finished
    self.skipped = skipped
    self.deadLettered = deadLettered
    self.retries = retries
    self.known = known
  }
}
