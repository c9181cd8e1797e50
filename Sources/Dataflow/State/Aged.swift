public import Bytes

/// How long what is written to a state lives.
///
/// Written at t it is visible to a call at u if and only if u < t + ttl. What has expired is removed in the background,
/// whether it is ever read again or not: each checkpoint looks through a part of the state.
public struct StateTTL: Sendable, Hashable {
  @usableFromInline
  enum Clock: Sendable {
    case event, processing
  }
  @usableFromInline let clock: Clock
  /// Microseconds.
  @usableFromInline let ttl: Int64
  @usableFromInline let lateness: Int64

  /// By event time: t and u are the timestamps of the records (or timers) under way. A time in which the job does not
  /// run changes nothing. For a record that comes behind the watermark by more than `lateness`, what the watermark has
  /// passed is gone: it expires once no record within `lateness` can see it.
  public static func eventTime(_ ttl: Duration, lateness: Duration = .zero) -> StateTTL {
    StateTTL(clock: .event, ttl: max(0, ttl.wholeMicroseconds), lateness: max(0, lateness.wholeMicroseconds))
  }

  /// By the clock's time of day when a batch is worked on; it never falls, and goes on while the job does not run.
  public static func processingTime(_ ttl: Duration) -> StateTTL {
    StateTTL(clock: .processing, ttl: max(0, ttl.wholeMicroseconds), lateness: 0)
  }

  /// Whether nobody, whenever he comes, will see what was written at `stamp`.
  @inlinable
  func isGone(_ stamp: Int64, watermark: Timestamp, now: Timestamp) -> Bool {
    let end = stamp.saturatingAdd(ttl)
    switch clock {
    // The next record is after the watermark.
    case .event: return watermark == .max || end.saturatingAdd(lateness) <= watermark.microseconds.saturatingAdd(1)
    case .processing: return end <= now.microseconds
    }
  }
}

/// A value of a state with the time at which it was written; 0 where nothing expires.
@frozen
@usableFromInline
struct Aged<Value> {
  @usableFromInline var value: Value
  @usableFromInline var stamp: Int64

  @inlinable
  init(_ value: Value, _ stamp: Int64) {
    self.value = value
    self.stamp = stamp
  }
}
