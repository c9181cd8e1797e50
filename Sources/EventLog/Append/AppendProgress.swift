import Synchronization

/// Counts batches on their way to the disk for those who append first and `flush` later.
///
/// Batches are finished in the order in which they were submitted. A failure is reported by every flush that covers
/// the failed batch; by the next one if none was waiting.
final class AppendProgress: Sendable {
  private struct State {
    var submitted = 0
    var finished = 0
    var failure: EventLogError?
    var waiters: [(target: Int, waiter: AnyWaiter<Void>)] = []
  }

  private let state = Mutex(State())

  func submit() { state.withLock { $0.submitted += 1 } }

  func finish(records: Int, _ failure: EventLogError?) {
    var failure = failure
    failure?.message += " (\(records) records that were enqueued are not in the log)"
    finish(failure)
  }

  private func finish(_ failure: EventLogError?) {
    let (ready, outcome) = state.withLock { state -> ([AnyWaiter<Void>], EventLogError?) in
      state.finished += 1
      state.failure = state.failure ?? failure
      let finished = state.finished
      let ready = state.waiters.filter { $0.target <= finished }.map(\.waiter)
      if ready.isEmpty { return ([], nil) }
      state.waiters.removeAll { $0.target <= finished }
      defer { state.failure = nil }
      return (ready, state.failure)
    }
    for waiter in ready { waiter.resume(outcome.map { .failure($0) } ?? .success(())) }
  }

  /// Whether anybody waits.
  var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

  /// Counts a batch that is in the log, or will be, and could not be synced now: `failure` says why.
  func finishUnsynced(_ failure: EventLogError) { finish(failure) }

  /// Resumes `waiter` when everything submitted so far is durable or has failed.
  func wait(_ waiter: AnyWaiter<Void>) {
    let outcome = state.withLock { state -> Result<Void, any Error>? in
      if state.finished < state.submitted {
        state.waiters.append((state.submitted, waiter))
        return nil
      }
      defer { state.failure = nil }
      return state.failure.map { .failure($0) } ?? .success(())
    }
    if let outcome { waiter.resume(outcome) }
  }
}
