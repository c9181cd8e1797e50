import Bytes

/// What happens when a run fails: it goes on from the last checkpoint after a while, or the error is thrown.
///
/// Errors that no new attempt can cure (a state that does not fit, a drained job) are thrown whatever the policy.
public struct RestartPolicy: Sendable, Hashable {
  private let backoff: Backoff
  private let attempts: Int
  private let resetAfter: Int64
  /// At most so many failures within so many microseconds.
  private let rate: Rate?

  private struct Rate: Sendable, Hashable {
    let failures: Int
    let interval: Int64
  }

  /// The first failure ends the run.
  public static let none = RestartPolicy(backoff: .fixed(.zero), attempts: 0, resetAfter: .max, rate: nil)

  /// Tries again after `delay`, at most `attempts` times in all.
  public static func fixedDelay(_ delay: Duration, attempts: Int = .max) -> RestartPolicy {
    RestartPolicy(backoff: .fixed(delay), attempts: max(0, attempts), resetAfter: .max, rate: nil)
  }

  /// Tries again after `initial`, each time `factor` times later up to `maximum`, each delay moved by chance by up to
  /// `jitter` of it either way; begins anew after it ran well for `resetAfter`. Gives up after `attempts` failures in
  /// a row.
  public static func exponential(
    initial: Duration = .milliseconds(100), factor: Double = 2, maximum: Duration = .seconds(60),
    jitter: Double = 0, resetAfter: Duration = .seconds(600), attempts: Int = .max
  ) -> RestartPolicy {
    RestartPolicy(
      backoff: .exponential(initial: initial, factor: factor, maximum: maximum, jitter: jitter),
      attempts: max(0, attempts), resetAfter: max(0, resetAfter.wholeMicroseconds), rate: nil)
  }

  /// Tries again, as `backoff` says, until more than `failures` failures fall within `interval`.
  public static func failureRate(
    atMost failures: Int, per interval: Duration, backoff: Backoff = .fixed(.seconds(1))
  ) -> RestartPolicy {
    RestartPolicy(
      backoff: backoff, attempts: .max, resetAfter: max(0, interval.wholeMicroseconds),
      rate: Rate(failures: max(0, failures), interval: max(0, interval.wholeMicroseconds)))
  }

  /// How often and when it restarted: decides about the next failure.
  struct State {
    private let policy: RestartPolicy
    private(set) var restarts = 0
    private var streak = 0
    /// When the failures within the interval happened.
    private var recent: [Int64] = []

    init(_ policy: RestartPolicy) { self.policy = policy }

    /// The delay in microseconds before the next attempt, or nil: give up.
    ///
    /// - Parameters:
    ///   - duration: how long the attempt ran.
    ///   - now: the clock at the failure.
    ///   - chance: between 0 and 1, for the jitter.
    mutating func failed(afterRunning duration: Int64, at now: Int64 = 0, chance: Double = 0.5) -> Int64? {
      if duration >= policy.resetAfter { streak = 0 }
      guard streak < policy.attempts else { return nil }
      if let rate = policy.rate {
        recent.removeAll { $0 <= now.saturatingSubtract(rate.interval) }
        recent.append(now)
        guard recent.count <= rate.failures else { return nil }
      }
      let delay = policy.backoff.delay(after: streak, chance: chance)
      streak += 1
      restarts += 1
      return delay
    }
  }
}
