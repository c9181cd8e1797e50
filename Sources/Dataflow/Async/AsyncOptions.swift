/// How `asyncMap` calls: how many at once, in what order results go on, how long a call may take, how often it is
/// tried.
public struct AsyncOptions: Sendable {
  /// In which order results leave.
  public enum Order: Sendable, Hashable {
    /// In that of their records: a slow call holds the results behind it.
    case ordered
    /// As calls end. A watermark still waits for every record before it.
    case unordered
  }

  /// The most calls under way on a subtask. With so many records unfinished no further batch is taken up.
  public var capacity: Int
  public var order: Order
  /// How long one attempt may take by the run's clock; nil: as long as it likes. A call that takes longer is cancelled,
  /// and not waited for.
  public var timeout: Duration?
  /// How often a record is tried, the first time included.
  public var attempts: Int
  /// The pause before each further attempt.
  public var backoff: Backoff
  /// Whether an error is worth another attempt.
  public var isRetriable: @Sendable (any Error) -> Bool

  public init(
    capacity: Int = 100, order: Order = .ordered, timeout: Duration? = nil, attempts: Int = 1,
    backoff: Backoff = .exponential(jitter: 0.2), isRetriable: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) {
    self.capacity = capacity
    self.order = order
    self.timeout = timeout
    self.attempts = attempts
    self.backoff = backoff
    self.isRetriable = isRetriable
  }
}

/// Thrown in place of a result when a call took longer than it may.
public struct AsyncTimeout: Error, Sendable, CustomStringConvertible {
  /// How long it may take.
  public var limit: Duration

  public init(limit: Duration) { self.limit = limit }

  public var description: String { "the call took longer than \(limit)" }
}
