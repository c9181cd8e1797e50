import Bytes
import Glibc
import LMDB
import Synchronization

/// Runs jobs later: the log's own thread, or a test's hand.
package protocol DelayScheduler: Sendable {
  /// Runs `job` once, `nanoseconds` from now, on any thread; it does no more than wake somebody up.
  func after(nanoseconds: Int, _ job: @escaping @Sendable () -> Void)
  /// Runs what waits at once, and from then on everything when it is given.
  func stop()
}

/// One thread for all delays of a log. It begins with the first of them and ends with `stop`.
final class DelayTimer: DelayScheduler {
  private struct Job {
    var deadline: Int
    var run: @Sendable () -> Void
  }

  private struct State {
    /// The next one last.
    var jobs: [Job] = []
    var isRunning = false
    var isStopped = false
  }

  private let state = Mutex(State())
  private let bell = Semaphore()

  func after(nanoseconds: Int, _ job: @escaping @Sendable () -> Void) {
    let deadline = Self.now() + max(0, nanoseconds)
    let (isNow, isFirst, mustStart) = state.withLock { state -> (Bool, Bool, Bool) in
      if state.isStopped { return (true, false, false) }
      // Few wait at a time, and most are given in the order in which they come due.
      let place = state.jobs.firstIndex { $0.deadline <= deadline } ?? state.jobs.endIndex
      state.jobs.insert(Job(deadline: deadline, run: job), at: place)
      defer { state.isRunning = true }
      return (false, place == state.jobs.endIndex - 1, !state.isRunning)
    }
    if isNow { return job() }
    if mustStart {
      OSThread.start(name: "log-timer") { self.run() }
    } else if isFirst {
      bell.signal()
    }
  }

  func stop() {
    let left = state.withLock { state in
      state.isStopped = true
      defer { state.jobs = [] }
      return state.jobs.reversed()
    }
    bell.signal()
    for job in left { job.run() }
  }

  private func run() {
    while true {
      let (due, wait, isStopped) = state.withLock { state -> ([Job], Int?, Bool) in
        let now = Self.now()
        var due: [Job] = []
        while let next = state.jobs.last, next.deadline <= now {
          due.append(next)
          state.jobs.removeLast()
        }
        return (due, state.jobs.last.map { $0.deadline - now }, state.isStopped)
      }
      for job in due { job.run() }
      if isStopped { return }
      if !due.isEmpty { continue }
      if let wait { _ = bell.wait(nanoseconds: wait) } else { bell.wait() }
    }
  }

  private static func now() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}

extension Duration {
  /// Saturates at about 292 years.
  var wholeNanoseconds: Int {
    let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return components.seconds < 0 ? .min : .max }
    return Int(seconds.saturatingAdd(components.attoseconds / 1_000_000_000))
  }
}
