import Glibc
import LMDB
import Synchronization

/// The thread on which a topic is compacted, one compaction after another: there while there is something to do.
final class CompactionThread: Sendable {
  private struct State {
    var jobs: [@Sendable () -> Void] = []
    /// The thread, 0 while there is none.
    var thread: UInt = 0
    var isRunning = false
    var isStopped = false
    var isInBackground = false
    var failure: (any Error)?
    /// What the failed one worked on: tried again when that has changed.
    var failedAt: UInt64?
    var waiters: [BlockingResult<Void>] = []
  }

  private let state = Mutex(State())
  private let topic: String

  init(topic: String) { self.topic = topic }

  private func async(_ job: @escaping @Sendable () -> Void) -> Bool {
    let (isTaken, isFirst) = state.withLock { state in
      if state.isStopped { return (false, false) }
      state.jobs.append(job)
      defer { state.isRunning = true }
      return (true, !state.isRunning)
    }
    if isFirst { OSThread.start(name: "compact-" + topic) { self.work() } }
    return isTaken
  }

  private func work() {
    state.withLock { $0.thread = UInt(pthread_self()) }
    while true {
      let job = state.withLock { state -> (@Sendable () -> Void)? in
        if state.jobs.isEmpty {
          state.isRunning = false
          state.thread = 0
          return nil
        }
        return state.jobs.removeFirst()
      }
      guard let job else { break }
      job()
    }
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.finish(.success(())) }
  }

  /// Runs `body` there and resumes `waiter` with its result.
  func run<R: Sendable>(_ waiter: AnyWaiter<R>, _ body: @escaping @Sendable () throws -> R) {
    let isTaken = async { waiter.resume(Result { try body() }) }
    if !isTaken { waiter.resume(.failure(EventLogError(.closed, "the log was closed", topic: topic))) }
  }

  /// Runs `body` there with nobody waiting, unless that is going on already, or has failed with the same `subject`.
  /// What it throws is kept.
  func begin(_ subject: UInt64, _ body: @escaping @Sendable () throws -> Void) {
    let isFirst = state.withLock { state in
      if state.isInBackground || state.failedAt == subject { return false }
      state.isInBackground = true
      return true
    }
    if !isFirst { return }
    let isTaken = async {
      let result = Result { try body() }
      self.state.withLock { state in
        state.isInBackground = false
        state.failedAt = nil
        guard case .failure(let error) = result else { return }
        state.failure = error
        if (error as? EventLogError)?.isRetriable == false { state.failedAt = subject }
      }
    }
    if !isTaken { state.withLock { $0.isInBackground = false } }
  }

  /// - Throws: what went wrong in the background since the last call.
  func throwFailure() throws {
    let failure = state.withLock { state in
      defer { state.failure = nil }
      return state.failure
    }
    if let failure { throw failure }
  }

  /// Returns when nothing is left to do.
  func waitUntilIdle() {
    let waiter = state.withLock { state -> BlockingResult<Void>? in
      // Who asks on the thread itself cannot wait for its end.
      if !state.isRunning || state.thread == UInt(pthread_self()) { return nil }
      let waiter = BlockingResult<Void>()
      state.waiters.append(waiter)
      return waiter
    }
    try? waiter?.wait()
  }

  /// Takes nothing more. With `waiting`, returns when what is going on has ended, which must have been told to.
  func stop(waiting: Bool) {
    state.withLock { $0.isStopped = true }
    if waiting { waitUntilIdle() }
  }
}
