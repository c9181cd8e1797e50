public import Bytes
import Glibc
import Synchronization

/// The time that a run goes by: checkpoint intervals, lingering, idleness, restart delays. Injected, for tests.
public protocol RuntimeClock: Sendable {
  /// Microseconds since some moment; never falls.
  var now: Int64 { get }
  /// The time of day.
  var time: Timestamp { get }
}

/// The machine's clocks.
public struct SystemClock: RuntimeClock {
  public init() {}

  public var now: Int64 { Self.read(CLOCK_MONOTONIC) }
  public var time: Timestamp { Timestamp(microseconds: Self.read(CLOCK_REALTIME)) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }
}

/// A clock that stands still until it is moved.
public final class ManualClock: RuntimeClock {
  private let microseconds: Atomic<Int64>

  public init(at start: Timestamp = Timestamp(microseconds: 0)) { microseconds = Atomic(start.microseconds) }

  public var now: Int64 { microseconds.load(ordering: .relaxed) }
  public var time: Timestamp { Timestamp(microseconds: now) }

  /// Moves the clock on.
  public func advance(by duration: Duration) {
    microseconds.add(duration.wholeMicroseconds, ordering: .relaxed)
  }
}
