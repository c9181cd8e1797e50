import Bytes

/// What happens when a run fails: it goes on from the last checkpoint after a while, or the error is thrown.
public struct RestartPolicy: Sendable, Hashable {
  private let first: Int64
  private let factor: Double
  private let longest: Int64
  private let attempts: Int
  private let resetAfter: Int64

  /// The first failure ends the run.
  public static let none = RestartPolicy(first: 0, factor: 1, longest: 0, attempts: 0, resetAfter: .max)

  /// Tries again after `delay`, at most `attempts` times in all.
  public static func fixedDelay(_ delay: Duration, attempts: Int = .max) -> RestartPolicy {
    let delay = max(0, delay.wholeMicroseconds)
    return RestartPolicy(first: delay, factor: 1, longest: delay, attempts: max(0, attempts), resetAfter: .max)
  }

  /// Tries again after `initial`, each time `factor` times later up to `maximum`; begins anew after it ran well for
  /// `resetAfter`.
  public static func exponential(
    initial: Duration = .milliseconds(100), factor: Double = 2, maximum: Duration = .seconds(60),
    resetAfter: Duration = .seconds(600), attempts: Int = .max
  ) -> RestartPolicy {
    RestartPolicy(
      first: max(0, initial.wholeMicroseconds), factor: max(1, factor), longest: max(0, maximum.wholeMicroseconds),
      attempts: max(0, attempts), resetAfter: max(0, resetAfter.wholeMicroseconds))
  }

  /// How often and when it restarted: decides about the next failure.
  struct State {
    private let policy: RestartPolicy
    private(set) var restarts = 0
    private var streak = 0

    init(_ policy: RestartPolicy) { self.policy = policy }

    /// The delay in microseconds before the next attempt, or nil: give up.
    mutating func failed(afterRunning duration: Int64) -> Int64? {
      if duration >= policy.resetAfter { streak = 0 }
      guard streak < policy.attempts else { return nil }
      var delay = Double(policy.first)
      // A few steps reach any maximum; no need to compute a power that overflows.
      for _ in 0..<min(streak, 64) where delay < Double(policy.longest) { delay *= policy.factor }
      streak += 1
      restarts += 1
      return delay >= Double(policy.longest) ? policy.longest : Int64(delay)
    }
  }
}
