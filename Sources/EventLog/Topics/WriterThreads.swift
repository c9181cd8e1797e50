import Glibc
import LMDB
import Synchronization

/// The threads on which the topics of a log are written: as many as have something to do at once, up to `most`; idle
/// ones end after a while.
///
/// A write transaction lives on one thread; a topic's next one may live on another.
final class WriterThreads: Sendable {
  /// More topics than this wait for each other's commits.
  static let most = 16
  private static let idleMilliseconds = 5000

  typealias Job = @Sendable () -> Void

  private final class Sleeper: Sendable {
    let job = Mutex<Job?>(nil)
    let bell = LMDB.Semaphore()

    func take() -> Job? {
      job.withLock { job in
        defer { job = nil }
        return job
      }
    }
  }

  private struct State {
    var waiting: [Job] = []
    var idle: [Sleeper] = []
    var threads = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  private let waitingCount = Atomic<Int>(0)

  /// Whether work waits for a thread.
  var isCrowded: Bool { waitingCount.load(ordering: .relaxed) > 0 }

  /// How many threads there are.
  var count: Int { state.withLock { $0.threads } }

  func run(_ job: @escaping Job) {
    let (sleeper, mustStart) = state.withLock { state -> (Sleeper?, Bool) in
      if let sleeper = state.idle.popLast() {
        sleeper.job.withLock { $0 = job }
        return (sleeper, false)
      }
      if state.threads < Self.most {
        state.threads += 1
        return (nil, true)
      }
      state.waiting.append(job)
      waitingCount.store(state.waiting.count, ordering: .relaxed)
      return (nil, false)
    }
    sleeper?.bell.signal()
    if mustStart { OSThread.start(name: "log-writer") { self.work(job) } }
  }

  /// Ends those that are idle; the others end when they are.
  func stop() {
    let idle = state.withLock { state in
      state.isStopped = true
      return state.idle
    }
    for sleeper in idle { sleeper.bell.signal() }
  }

  private func work(_ first: @escaping Job) {
    let sleeper = Sleeper()
    var job: Job? = first
    while true {
      job?()
      job = nil
      job = next(sleeper)
      if job == nil { return }
    }
  }

  /// What to do next, after waiting for it; nil to end.
  private func next(_ sleeper: Sleeper) -> Job? {
    let (job, isEnding) = state.withLock { state -> (Job?, Bool) in
      if !state.waiting.isEmpty {
        let job = state.waiting.removeFirst()
        waitingCount.store(state.waiting.count, ordering: .relaxed)
        return (job, false)
      }
      if state.isStopped {
        state.threads -= 1
        return (nil, true)
      }
      state.idle.append(sleeper)
      return (nil, false)
    }
    if job != nil || isEnding { return job }
    _ = sleeper.bell.wait(milliseconds: Self.idleMilliseconds)
    let isLeaving = state.withLock { state in
      guard let index = state.idle.firstIndex(where: { $0 === sleeper }) else { return false }
      state.idle.remove(at: index)
      state.threads -= 1
      return true
    }
    if isLeaving { return nil }
    // Whoever took it from the idle ones has given it something first.
    return sleeper.take()
  }
}

/// Does the jobs of one topic one after the other, in the order in which they were given, on the threads of the log.
final class SerialWorker: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State {
    var jobs: [Job] = []
    var isRunning = false
    var isStopped = false
    var waiters: [LMDB.Semaphore] = []
  }

  private let state = Mutex(State())
  /// The thread that does a job now, 0 if none does.
  private let thread = Atomic<UInt>(0)
  private let threads: WriterThreads

  init(_ threads: WriterThreads) { self.threads = threads }

  /// Whether the calling thread is inside one of the jobs.
  var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

  /// Does `job` after everything given before. Ignored once stopped; returns whether it was taken.
  @discardableResult
  func async(_ job: @escaping Job) -> Bool {
    let (isTaken, isFirst) = state.withLock { state in
      if state.isStopped { return (false, false) }
      state.jobs.append(job)
      defer { state.isRunning = true }
      return (true, !state.isRunning)
    }
    if isFirst { threads.run { self.work() } }
    return isTaken
  }

  /// Takes nothing more, and waits until everything given before was done; not from inside a job, behind which it is.
  func stop() {
    let bell = state.withLock { state -> LMDB.Semaphore? in
      state.isStopped = true
      if !state.isRunning || isCurrent { return nil }
      let bell = LMDB.Semaphore()
      state.waiters.append(bell)
      return bell
    }
    bell?.wait()
  }

  private func work() {
    thread.store(UInt(pthread_self()), ordering: .relaxed)
    while true {
      var jobs = state.withLock { state in
        defer { state.jobs = [] }
        return state.jobs
      }
      let isDone = jobs.isEmpty
      for job in jobs { job() }
      // Let go of here, where it is known on which thread.
      jobs = []
      if isDone {
        thread.store(0, ordering: .relaxed)
        let waiters = state.withLock { state -> [LMDB.Semaphore]? in
          if !state.jobs.isEmpty { return nil }
          state.isRunning = false
          defer { state.waiters = [] }
          return state.waiters
        }
        if let waiters {
          for waiter in waiters { waiter.signal() }
          return
        }
        thread.store(UInt(pthread_self()), ordering: .relaxed)
      } else if threads.isCrowded {
        // Others have their turn.
        thread.store(0, ordering: .relaxed)
        return threads.run { self.work() }
      }
    }
  }
}
