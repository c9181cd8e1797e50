import Bytes

/// How long to wait before trying again: longer each time, up to a maximum, and not everybody at once.
public struct Backoff: Sendable, Hashable {
  /// Microseconds.
  let initial: Int64
  let factor: Double
  let maximum: Int64
  /// The part of a delay by which it may be shorter or longer.
  let jitter: Double

  /// `initial` the first time, each time `factor` times longer, up to `maximum`; each delay is moved by chance by up to
  /// `jitter` of it (0…1) either way.
  public static func exponential(
    initial: Duration = .milliseconds(100), factor: Double = 2, maximum: Duration = .seconds(60), jitter: Double = 0
  ) -> Backoff {
    Backoff(
      initial: max(0, initial.wholeMicroseconds), factor: factor.isFinite ? max(1, factor) : 1,
      maximum: max(0, maximum.wholeMicroseconds), jitter: jitter.isFinite ? min(max(0, jitter), 1) : 0)
  }

  /// Always the same.
  public static func fixed(_ delay: Duration) -> Backoff { .exponential(initial: delay, factor: 1, maximum: delay) }

  /// The delay in microseconds after `failures` failures before this one; `chance` is between 0 and 1.
  func delay(after failures: Int, chance: Double) -> Int64 {
    var delay = Double(initial)
    // A few steps reach any maximum; no need to compute a power that overflows.
    for _ in 0..<min(failures, 64) where delay < Double(maximum) { delay *= factor }
    delay = min(delay, Double(maximum)) * (1 + jitter * (2 * chance - 1))
    return delay >= 9e18 ? .max : Int64(max(0, delay))
  }
}
