import LMDB
import Synchronization

/// What a subtask's thread sleeps on: rung by whoever has something for it. A ring is never lost; many count as one.
final class Doorbell: Sendable {
  private let isRung = Atomic<Bool>(false)
  private let semaphore = Semaphore()

  func ring() {
    // Costs a read and a compare where the bell is rung already: waking a sleeper costs 40 µs.
    if !isRung.exchange(true, ordering: .acquiringAndReleasing) { semaphore.signal() }
  }

  /// Returns when the bell was rung since the last return, or after `microseconds`.
  func wait(microseconds: Int64) {
    if microseconds > 0 { _ = semaphore.wait(milliseconds: Int(min(microseconds / 1000 + 1, 1 << 30))) }
    _ = isRung.exchange(false, ordering: .acquiringAndReleasing)
  }
}
