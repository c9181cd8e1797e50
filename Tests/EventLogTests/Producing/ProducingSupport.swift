import LMDB
import Synchronization
import Testing

@testable import EventLog

/// Delays that pass when the test says so.
final class ManualTimer: DelayScheduler {
  private struct State {
    var now = 0
    var jobs: [(deadline: Int, run: @Sendable () -> Void)] = []
    var isStopped = false
  }
  private let state = Mutex(State())

  var waiting: Int { state.withLock { $0.jobs.count } }

  func after(nanoseconds: Int, _ job: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      if !state.isStopped { state.jobs.append((state.now + nanoseconds, job)) }
      return state.isStopped
    }
    if isNow { job() }
  }

  func advance(_ duration: Duration) {
    let due = state.withLock { state in
      state.now += duration.wholeNanoseconds
      let due = state.jobs.filter { $0.deadline <= state.now }
      state.jobs.removeAll { $0.deadline <= state.now }
      return due
    }
    for job in due { job.run() }
  }

  func stop() {
    let left = state.withLock { state in
      state.isStopped = true
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in left { job.run() }
  }

  /// Suspends until so many delays wait.
  func wait(for count: Int) async { while waiting < count { await Task.yield() } }
}

/// Fails commits as the test says.
final class Faults: Sendable {
  private let left = Atomic<Int>(0)
  private let commits = Atomic<Int>(0)

  /// Fails the next `count` commits with a full map's error.
  func fail(_ count: Int) { left.store(count, ordering: .relaxed) }
  /// How many commits were tried.
  var tried: Int { commits.load(ordering: .relaxed) }

  var hook: @Sendable () throws -> Void {
    {
      self.commits.add(1, ordering: .relaxed)
      if self.left.load(ordering: .relaxed) > 0 {
        self.left.subtract(1, ordering: .relaxed)
        throw LMDBError(.diskFull, path: "", operation: "commit")
      }
    }
  }
}

/// Keeps a topic's writer busy until it is let go.
final class BusyWriter: Sendable {
  private let gate = Semaphore()
  private let begun = Semaphore()

  init(_ topic: LogTopic) throws {
    try topic.requireWriter().run(.thread(BlockingResult<Void>())) { [gate, begun] _ in
      begun.signal()
      gate.wait()
    }
    begun.wait()
  }

  func release() { gate.signal() }
}

extension LogTopic {
  /// How many records each partition holds.
  func counts() throws -> [Int] { try offsets().map(\.count) }
}

/// The log's error that `body` throws.
func failureOf(_ body: () async throws -> Void) async -> EventLogError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? EventLogError
  }
}

/// Something that becomes true once.
final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}
