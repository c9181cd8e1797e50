import Bytes
import Synchronization

/// The members of a group that share one topic, in this process: carries out what `RebalanceMachine` decides, and keeps
/// what is committed.
final class TopicGroup: Sendable {
  struct Member: Sendable {
    var name: String
    let wake: Wakeup
    var revocationTimeout: Duration
    /// Whether the member itself releases what is revoked, when it has finished it.
    var finishesItself = false
  }

  /// What one member wants to commit in one partition.
  struct Commit: Sendable {
    var partition: Int
    var generation: UInt64
    var offset: Int64
    /// All offsets behind that are finished, too; nil: those that are known.
    var finished: OffsetRanges?
    /// The first commit of a partition: leaves one that is there alone.
    var isStart = false
    /// Sets the position whatever is committed: after a jump.
    var isReset = false
  }

  /// A partition that a member has.
  struct Holding: Hashable, Sendable {
    var generation: UInt64
    var isRevoked: Bool
  }

  private struct State {
    var machine: RebalanceMachine
    var members: [UInt64: Member] = [:]
    var committed: [Int: CommittedOffset]
    /// Behind the last record given to the one who has the partition.
    var given: [Int: Int64] = [:]
    /// By when a revoked partition is released.
    var deadlines: [Int: Duration] = [:]
    var jumps = 0
    var ending: EventLogError?
  }

  let topic: TopicState
  let store: GroupStore
  private let clock: GroupClock
  /// Grows with everything that may concern a member.
  private let changes = Atomic<Int>(0)
  private let state: Mutex<State>

  init(_ topic: TopicState, _ store: GroupStore, _ committed: [Int: CommittedOffset], _ clock: GroupClock) {
    self.topic = topic
    self.store = store
    self.clock = clock
    state = Mutex(State(machine: RebalanceMachine(partitions: topic.partitions), committed: committed))
  }

  var version: Int { changes.load(ordering: .acquiring) }

  // MARK: Members

  func join(_ id: UInt64, _ member: Member) {
    change { state in
      state.members[id] = member
      return state.machine.join(id)
    }
  }

  /// Returns whether it was the last member.
  func leave(_ id: UInt64) -> Bool {
    change { state in
      guard state.members.removeValue(forKey: id) != nil else { return [] }
      for (partition, grant) in state.machine.grants.enumerated() where grant?.member == id {
        state.given[partition] = nil
        state.deadlines[partition] = nil
      }
      return state.machine.leave(id)
    }
    return state.withLock { $0.members.isEmpty }
  }

  /// Whether `id` releases revoked partitions by itself from now on.
  func setFinishesItself(_ id: UInt64, _ isSo: Bool) {
    change { state in
      state.members[id]?.finishesItself = isSo
      return isSo ? [] : releasable(&state)
    }
  }

  func end(_ error: EventLogError) {
    let members = state.withLock { state in
      state.ending = state.ending ?? error
      return state.members
    }
    for member in members.values { member.wake.signal() }
  }

  /// What `id` has now.
  func holdings(of id: UInt64) throws(EventLogError) -> [Int: Holding] {
    let (holdings, ending) = state.withLock { state in
      var holdings: [Int: Holding] = [:]
      for (partition, grant) in state.machine.grants.enumerated() {
        guard let grant, grant.member == id else { continue }
        holdings[partition] = Holding(generation: grant.generation, isRevoked: grant.isRevoked)
      }
      return (holdings, state.ending)
    }
    if let ending { throw ending }
    return holdings
  }

  /// Whether partitions are on their way to `id` that others have yet.
  func isWaiting(_ id: UInt64) -> Bool {
    state.withLock { state in
      state.machine.targets.indices.contains {
        state.machine.targets[$0] == id && state.machine.grants[$0]?.member != id
      }
    }
  }

  /// Takes away what should have been released by now; returns how long until there is something to take away.
  func expire() -> Duration? {
    let isEmpty = state.withLock { $0.deadlines.isEmpty }
    if isEmpty { return nil }
    let now = clock.now()
    change { state in
      var actions: [RebalanceMachine.Action] = []
      for (partition, deadline) in state.deadlines where deadline <= now {
        actions += release(partition, &state)
      }
      return actions
    }
    return state.withLock { state in state.deadlines.values.min().map { max($0 - now, .zero) } }
  }

  // MARK: Giving and releasing

  /// Gives the record at `offset` to `id`; false if the partition is not to be read by it any more.
  func give(_ id: UInt64, partition: Int, generation: UInt64, through end: Int64) -> Bool {
    state.withLock { state in
      guard state.machine.isCurrent(partition, member: id, generation: generation),
        state.machine.grants[partition]?.isRevoked == false
      else { return false }
      state.given[partition] = end
      return true
    }
  }

  /// Where the member goes on that was given the partition: behind what it was given before, or what is committed.
  func place(_ partition: Int) -> (next: Int64, finished: OffsetRanges)? {
    state.withLock { state in
      guard let committed = state.committed[partition] else { return nil }
      return (max(state.given[partition] ?? 0, committed.offset), committed.finished)
    }
  }

  /// What was given to `id` counts as not given: it goes on at what is committed.
  func takeBack(_ id: UInt64) {
    state.withLock { state in
      for (partition, grant) in state.machine.grants.enumerated() where grant?.member == id {
        state.given[partition] = nil
      }
    }
  }

  /// `id` has finished what it was given of a revoked partition.
  func release(_ partition: Int, generation: UInt64, by id: UInt64) {
    change { state in
      guard state.machine.isCurrent(partition, member: id, generation: generation) else { return [] }
      return release(partition, &state)
    }
  }

  /// Revoked partitions of `id`.
  func revoked(from id: UInt64) -> [Int: UInt64] {
    state.withLock { state in
      var found: [Int: UInt64] = [:]
      for (partition, grant) in state.machine.grants.enumerated() {
        if let grant, grant.member == id, grant.isRevoked { found[partition] = grant.generation }
      }
      return found
    }
  }

  private func release(_ partition: Int, _ state: inout State) -> [RebalanceMachine.Action] {
    guard let grant = state.machine.grants[partition], grant.isRevoked else { return [] }
    state.deadlines[partition] = nil
    state.given[partition] = nil
    return state.machine.release(partition, generation: grant.generation)
  }

  /// Releases revoked partitions of which everything given is committed, unless their member does it.
  private func releasable(_ state: inout State) -> [RebalanceMachine.Action] {
    var actions: [RebalanceMachine.Action] = []
    for (partition, grant) in state.machine.grants.enumerated() {
      guard let grant, grant.isRevoked, state.members[grant.member]?.finishesItself != true,
        state.given[partition].map({ $0 <= state.committed[partition]?.offset ?? 0 }) ?? true
      else { continue }
      actions += release(partition, &state)
    }
    return actions
  }

  /// Changes the state and carries out what follows from it.
  private func change(_ body: (inout State) -> [RebalanceMachine.Action]) {
    let wakes = state.withLock { state -> [Wakeup] in
      var actions = body(&state)
      var touched: Set<UInt64> = []
      var isSettled = false
      while !isSettled {
        for action in actions {
          switch action {
          case .grant(_, let grant): touched.insert(grant.member)
          case .revoke(let partition, let grant):
            touched.insert(grant.member)
            let timeout = state.members[grant.member]?.revocationTimeout ?? .zero
            state.deadlines[partition] = clock.now() + timeout
          }
        }
        actions = releasable(&state)
        isSettled = actions.isEmpty
      }
      // Who waits for a partition waits no longer than its deadline.
      if !state.deadlines.isEmpty { touched.formUnion(state.members.keys) }
      // Together with the change: who sees the one sees the other.
      changes.add(1, ordering: .acquiringAndReleasing)
      return touched.compactMap { state.members[$0]?.wake }
    }
    for wake in wakes { wake.signal() }
  }

  // MARK: Committing

  /// What is committed, and who has each partition.
  func positions() -> (committed: [Int: CommittedOffset], members: [Int: String]) {
    state.withLock { state in
      var members: [Int: String] = [:]
      for (partition, grant) in state.machine.grants.enumerated() {
        if let grant { members[partition] = state.members[grant.member]?.name }
      }
      return (state.committed, members)
    }
  }

  /// The grant that `id` has of `partition`.
  func generation(of partition: Int, _ id: UInt64) throws(EventLogError) -> UInt64 {
    let grant = state.withLock { $0.machine.grants.indices.contains(partition) ? $0.machine.grants[partition] : nil }
    guard let grant, grant.member == id else { throw fenced(partition) }
    return grant.generation
  }

  /// Everything given to `id` so far.
  func given(to id: UInt64) -> [Commit] {
    state.withLock { state in
      state.given.compactMap { partition, end in
        guard let grant = state.machine.grants[partition], grant.member == id else { return nil }
        return Commit(partition: partition, generation: grant.generation, offset: end)
      }
    }
  }

  /// Returns when `commits` are durable; those of partitions that are another member's by now are refused with all
  /// the others, or left out.
  func commit(_ commits: [Commit], by id: UInt64, leavingOutLost: Bool = false) async throws {
    if commits.isEmpty { return }
    let now = topic.core.options.clock
    _ = try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      store.submit(
        GroupStore.Request(
          decide: { self.decide(commits, id, now(), leavingOutLost) }, topic: topic.id,
          done: { result in
            if case .success(let written) = result { self.written(written) }
            continuation.resume(with: result.map { _ in }.mapError { $0 })
          }))
    }
  }

  /// What of `commits` is to be written: on the writing thread, where the order of commits is decided.
  private func decide(
    _ commits: [Commit], _ id: UInt64, _ now: Timestamp, _ leavingOutLost: Bool
  ) -> Result<[Int: CommittedOffset], EventLogError> {
    state.withLock { state in
      if let ending = state.ending { return .failure(ending) }
      var writes: [Int: CommittedOffset] = [:]
      for commit in commits {
        guard state.machine.isCurrent(commit.partition, member: id, generation: commit.generation) else {
          if leavingOutLost { continue }
          return .failure(fenced(commit.partition))
        }
        let known = writes[commit.partition] ?? state.committed[commit.partition]
        if let known, !commit.isReset {
          // Never back; and nothing is written that is there already.
          if commit.isStart || commit.offset < known.offset { continue }
          if commit.offset == known.offset && (commit.finished ?? known.finished) == known.finished { continue }
        }
        writes[commit.partition] = CommittedOffset(
          offset: commit.offset, at: now, finished: commit.finished ?? known?.finished ?? OffsetRanges())
      }
      return .success(writes)
    }
  }

  private func written(_ offsets: [Int: CommittedOffset]) {
    if offsets.isEmpty { return }
    let mayRelease = state.withLock { state in
      state.committed.merge(offsets) { _, new in new }
      return !state.deadlines.isEmpty
    }
    if mayRelease { change { releasable(&$0) } }
  }

  private func fenced(_ partition: Int) -> EventLogError {
    EventLogError(
      .commitFenced,
      "the group \(store.group) gave the partition to another member meanwhile; nothing was committed: what was not "
        + "committed before is given to that member again", topic: topic.name, partition: partition)
  }
}
