import CLMDB
import Glibc
import Synchronization

/// The read transactions of one environment in this process: idle ones kept for reuse (a renewed transaction keeps its
/// slot and needs no allocation), open ones known by age.
final class ReaderPool: Sendable {
  /// One read transaction of LMDB; owned by the pool while idle, by one `ReadTransaction` while open.
  @safe
  final class Slot: Sendable {
    // Invariant: used by the one owner at a time, as LMDB demands with MDB_NOTLS.
    nonisolated(unsafe) let transaction: OpaquePointer
    /// When it was begun or renewed: monotonic milliseconds.
    let begun = Atomic<Int>(0)
    let isExpired = Atomic<Bool>(false)

    init(transaction: OpaquePointer) { unsafe self.transaction = unsafe transaction }
  }

  private struct State {
    var idle: [Slot] = []
    var open: [ObjectIdentifier: Slot] = [:]
  }

  private static let maximumIdle = 16
  private let state = Mutex(State())

  /// An idle slot, or nil; it counts as open from now on.
  func take() -> Slot? {
    state.withLock { state in
      guard let slot = state.idle.popLast() else { return nil }
      state.open[ObjectIdentifier(slot)] = slot
      return slot
    }
  }

  func add(_ slot: Slot) {
    state.withLock { $0.open[ObjectIdentifier(slot)] = slot }
  }

  /// Takes back a slot whose transaction was reset.
  func giveBack(_ slot: Slot) {
    let kept = state.withLock { state in
      state.open[ObjectIdentifier(slot)] = nil
      if state.idle.count >= Self.maximumIdle { return false }
      state.idle.append(slot)
      return true
    }
    if !kept { unsafe mdb_txn_abort(slot.transaction) }
  }

  /// Forgets a slot whose transaction was aborted.
  func remove(_ slot: Slot) {
    state.withLock { $0.open[ObjectIdentifier(slot)] = nil }
  }

  func closeIdle() {
    let idle = state.withLock { state in
      defer { state.idle = [] }
      return state.idle
    }
    for slot in idle { unsafe mdb_txn_abort(slot.transaction) }
  }

  /// Runs `body` if no read transaction is open, with none opened meanwhile.
  func withNoneOpen(_ body: () -> Bool) -> Bool {
    closeIdle()
    return state.withLock { $0.open.isEmpty ? body() : false }
  }

  /// The age in milliseconds of the oldest open transaction, nil if none is open.
  func oldestAge() -> Int? {
    let now = Self.now()
    return state.withLock { state in
      state.open.values.map { now - $0.begun.load(ordering: .relaxed) }.max()
    }
  }

  /// Marks what has been open for `milliseconds` or longer; its next use throws. Returns how many there are.
  func expire(olderThan milliseconds: Int) -> Int {
    let now = Self.now()
    return state.withLock { state in
      var count = 0
      for slot in state.open.values where now - slot.begun.load(ordering: .relaxed) >= milliseconds {
        slot.isExpired.store(true, ordering: .relaxed)
        count += 1
      }
      return count
    }
  }

  /// Monotonic milliseconds, from the coarse clock: a few nanoseconds.
  static func now() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }
}
