import CLMDB
import Glibc
import Synchronization

/// Whether a transaction ended by age: set by any thread, seen by its owner at the next use, which unpins the pages.
final class Expiry: Sendable {
  private let flag = Atomic<Bool>(false)

  var isReached: Bool {
    get { flag.load(ordering: .relaxed) }
    set { flag.store(newValue, ordering: .relaxed) }
  }
}

/// The read transactions of one environment in this process: idle ones kept for reuse (a renewed transaction keeps its
/// slot and needs no allocation), open ones known by age. Counts every transaction, so that the map is moved only while
/// none is open.
final class ReaderPool: Sendable {
  /// One read transaction of LMDB; owned by the pool while idle, by one `ReadTransaction` while open.
  @safe
  final class Slot: Sendable {
    // Invariant: used by the one owner at a time, as LMDB demands with MDB_NOTLS.
    nonisolated(unsafe) let transaction: OpaquePointer
    /// When it was begun or renewed, in milliseconds of the pool's clock; `idleMark` while idle.
    let begun: Atomic<Int>
    let expiry = Expiry()

    init(transaction: OpaquePointer, begun: Int) {
      unsafe self.transaction = unsafe transaction
      self.begun = Atomic(begun)
    }

    func restart(at time: Int) {
      expiry.isReached = false
      begun.store(time, ordering: .relaxed)
    }
  }

  private struct State {
    var idle: [Slot] = []
    var all: [Slot] = []
    /// Transactions open or being begun: read, write and copies.
    var entered = 0
  }

  private static let maximumIdle = 16
  private static let idleMark = Int.min
  private let state = Mutex(State())
  private let clock: (@Sendable () -> Int)?

  init(clock: (@Sendable () -> Int)?) { self.clock = clock }

  // MARK: - The map's place

  /// Announces a transaction: the map stays where it is until `leave()`.
  func enter() { state.withLock { $0.entered += 1 } }

  func leave() { state.withLock { $0.entered -= 1 } }

  /// Runs `body` if no transaction is open but the caller's, with none begun meanwhile.
  func withOnlyOneEntered(_ body: () -> Bool) -> Bool {
    state.withLock { $0.entered == 1 ? body() : false }
  }

  /// Runs `body`, which looks into the map without a transaction.
  func withMapInPlace<R>(_ body: () -> R) -> R { state.withLock { _ in body() } }

  // MARK: - Slots

  /// Enters, and gives an idle slot if there is one.
  func take() -> Slot? {
    let time = now()
    return state.withLock { state in
      state.entered += 1
      guard let slot = state.idle.popLast() else { return nil }
      slot.restart(at: time)
      return slot
    }
  }

  /// Registers a new slot, open from now on; its owner entered before.
  func add(_ transaction: OpaquePointer) -> Slot {
    let slot = unsafe Slot(transaction: transaction, begun: now())
    state.withLock { $0.all.append(slot) }
    return slot
  }

  /// Takes back a slot whose transaction was reset, and leaves.
  func giveBack(_ slot: Slot) {
    let isKept = state.withLock { state in
      slot.begun.store(Self.idleMark, ordering: .relaxed)
      state.entered -= 1
      if state.idle.count < Self.maximumIdle {
        state.idle.append(slot)
        return true
      }
      state.all.removeAll { $0 === slot }
      return false
    }
    if !isKept { unsafe mdb_txn_abort(slot.transaction) }
  }

  /// Aborts a slot whose transaction could not be renewed; its owner stays entered.
  func discard(_ slot: Slot) {
    state.withLock { state in state.all.removeAll { $0 === slot } }
    unsafe mdb_txn_abort(slot.transaction)
  }

  func closeIdle() {
    let idle = state.withLock { state in
      let idle = state.idle
      state.idle = []
      state.all.removeAll { slot in idle.contains { $0 === slot } }
      return idle
    }
    for slot in idle { unsafe mdb_txn_abort(slot.transaction) }
  }

  // MARK: - Age

  /// The age in milliseconds of the oldest open transaction, nil if none is open.
  func oldestAge() -> Int? {
    let time = now()
    return state.withLock { state in
      state.all.lazy.map { $0.begun.load(ordering: .relaxed) }.filter { $0 != Self.idleMark }.min().map { time - $0 }
    }
  }

  /// Marks what has been open for `milliseconds` or longer; its next use throws. Returns how many there are.
  func expire(olderThan milliseconds: Int) -> Int {
    let time = now()
    return state.withLock { state in
      var count = 0
      for slot in state.all {
        let begun = slot.begun.load(ordering: .relaxed)
        if begun == Self.idleMark || time - begun < milliseconds { continue }
        slot.expiry.isReached = true
        count += 1
      }
      return count
    }
  }

  /// Monotonic milliseconds, unless a clock was given from the system's coarse clock: a few nanoseconds.
  func now() -> Int {
    if let clock { return clock() }
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }
}
