import Glibc
import Synchronization

/// One operating system thread that runs closures in the order in which they were given: where writers live.
///
/// Any thread may give it work. `stop` runs what was given before and ends the thread.
public final class PinnedThread: Sendable {
  private final class Queue: Sendable {
    private let jobs = Mutex<(waiting: [@Sendable () -> Void], isStopped: Bool)>(([], false))
    private let wake = Semaphore()
    private let thread = Atomic<UInt>(0)

    var isCurrentThread: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Returns false when the queue takes nothing any more.
    func add(_ job: @escaping @Sendable () -> Void) -> Bool {
      let (accepted, wasEmpty) = jobs.withLock { jobs in
        if jobs.isStopped { return (false, false) }
        jobs.waiting.append(job)
        return (true, jobs.waiting.count == 1)
      }
      if wasEmpty { wake.signal() }
      return accepted
    }

    func stop() {
      jobs.withLock { $0.isStopped = true }
      wake.signal()
    }

    func run() {
      thread.store(UInt(pthread_self()), ordering: .relaxed)
      while true {
        let (batch, isStopped) = jobs.withLock { jobs in
          defer { jobs.waiting = [] }
          return (jobs.waiting, jobs.isStopped)
        }
        for job in batch { job() }
        if batch.isEmpty {
          if isStopped { return }
          wake.wait()
        }
      }
    }
  }

  private let queue = Queue()
  private let ended = Semaphore()
  private let isJoined = Atomic<Bool>(false)

  /// Starts the thread. `name` is shown by the system's tools, its first 15 bytes.
  public init(name: String) {
    let queue = queue
    let ended = ended
    OSThread.start(name: name) {
      queue.run()
      ended.signal()
    }
  }

  deinit { queue.stop() }

  /// Runs `job` after everything given before. Ignored once stopped; returns whether it was taken.
  @discardableResult
  public func async(_ job: @escaping @Sendable () -> Void) -> Bool { queue.add(job) }

  /// Runs `body` after everything given before and waits for it.
  ///
  /// - Throws: what `body` throws; `badHandle` once stopped, and on this very thread, which would wait for itself.
  public func sync<R: Sendable>(_ body: @escaping @Sendable () throws -> R) throws -> R {
    if queue.isCurrentThread {
      throw LMDBError(.badHandle, path: "", operation: "wait for the writer thread on itself")
    }
    let done = Semaphore()
    let result = Mutex<Result<R, any Error>?>(nil)
    let taken = queue.add {
      let outcome = Result { try body() }
      result.withLock { $0 = outcome }
      done.signal()
    }
    guard taken else { throw LMDBError(.badHandle, path: "", operation: "run on a stopped writer thread") }
    done.wait()
    guard let outcome = result.withLock({ $0 }) else {
      throw LMDBError(.badHandle, path: "", operation: "run on a writer thread")
    }
    return try outcome.get()
  }

  /// Runs what was given before, ends the thread and waits for its end (not on the thread itself, which ends later).
  public func stop() {
    queue.stop()
    if queue.isCurrentThread { return }
    if !isJoined.exchange(true, ordering: .relaxed) { ended.wait() }
  }
}
