import LMDB
import Synchronization

/// Does what must be done from time to time while a store is open, on a thread of its own.
final class StoreMaintenance: Sendable {
  private let bell = Semaphore()
  private let ended = Semaphore()
  private let isStopped = Atomic<Bool>(false)
  private let lastFailure = Mutex<(any Error)?>(nil)
  /// Gone before the thread says that it ended: what it holds is free when `stop` returns.
  private let work: Mutex<(@Sendable () throws -> Void)?>

  /// Calls `work` after each `interval`. What it throws is kept in `failure` until it next succeeds.
  init(every interval: Duration, _ work: @escaping @Sendable () throws -> Void) {
    self.work = Mutex(work)
    let milliseconds = max(1, Int(clamping: interval.wholeMilliseconds))
    OSThread.start(name: "millrace-upkeep") { [self] in
      while !isStopped.load(ordering: .acquiring) {
        if !bell.wait(milliseconds: milliseconds) { round() }
      }
      self.work.withLock { $0 = nil }
      ended.signal()
    }
  }

  private func round() {
    guard let work = work.withLock({ $0 }) else { return }
    let result = Result { try work() }
    lastFailure.withLock { failure in
      if case .failure(let error) = result { failure = error } else { failure = nil }
    }
  }

  /// Why the last round failed; nil if it did not.
  var failure: (any Error)? { lastFailure.withLock { $0 } }

  /// Ends the thread and waits for it. Once.
  func stop() {
    isStopped.store(true, ordering: .releasing)
    bell.signal()
    ended.wait()
  }
}

extension Duration {
  fileprivate var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
