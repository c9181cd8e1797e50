import Bytes
import Synchronization

/// Keeps the partitions of a group of sources close to each other in event time, over all subtasks of a run.
///
/// Decides which partitions must wait and rings those who wait when the slowest has moved. Asked once per poll.
final class AlignmentGroup: Sendable {
  struct Member: Hashable, Sendable {
    let node: NodeID
    let partition: Int
  }

  private struct Standing {
    var time: Timestamp
    /// Whether the others wait for it.
    var counts = true
  }

  private struct State {
    var standings: [Member: Standing] = [:]
    /// The slowest's time; nil: nobody counts.
    var slowest: Timestamp?
    /// Subtasks with a partition that waits.
    var waiting: Set<Int> = []
  }

  private let state = Mutex(State())
  private let bells: [Doorbell]

  init(bells: [Doorbell]) { self.bells = bells }

  /// Adds a partition; all of them before the first is read, so that none runs ahead of one that starts late.
  func add(_ member: Member, at time: Timestamp) {
    state.withLock { state in
      state.standings[member] = Standing(time: time)
      state.slowest = Self.slowest(state.standings)
    }
  }

  /// Takes over where partitions stand, and says which of them must wait: those more than `drift` ahead of the slowest.
  func settle(
    _ reports: [(member: Member, time: Timestamp, counts: Bool)], drift: Int64, subtask: Int
  ) -> [Bool] {
    state.withLock { state in
      var changed = false
      for report in reports {
        let standing = Standing(time: report.time, counts: report.counts)
        let before = state.standings.updateValue(standing, forKey: report.member)
        if before?.time != report.time || before?.counts != report.counts { changed = true }
      }
      if changed {
        let before = state.slowest
        state.slowest = Self.slowest(state.standings)
        if before != state.slowest {
          for waiter in state.waiting where waiter != subtask { bells[waiter].ring() }
          state.waiting.removeAll()
        }
      }
      let limit = state.slowest.map { $0.advanced(byMicroseconds: drift) } ?? .max
      let mustWait = reports.map { $0.time > limit }
      // Noted under the lock: a rise after this finds it.
      if mustWait.contains(true) { state.waiting.insert(subtask) }
      return mustWait
    }
  }

  private static func slowest(_ standings: [Member: Standing]) -> Timestamp? {
    standings.values.lazy.filter(\.counts).map(\.time).min()
  }
}

/// One source's part in its alignment group, on one subtask.
struct SourceAlignment {
  let group: AlignmentGroup
  let node: NodeID
  let drift: Int64
  let subtask: Int
  /// The partitions that must not be read now.
  private(set) var paused: Set<Int> = []
  /// Partitions of which it is known that they have nothing to read yet.
  private var silent: Set<Int> = []

  init(_ group: AlignmentGroup, _ node: NodeID, drift: Int64, subtask: Int) {
    self.group = group
    self.node = node
    self.drift = drift
    self.subtask = subtask
  }

  /// A poll found nothing: partitions without any record so far hold nobody back from now on. Returns whether that is
  /// news of some.
  mutating func foundNothing(_ progress: PartitionProgress) -> Bool {
    var isNews = false
    for partition in progress.partitions where partition.watermark.time == .min && !paused.contains(partition.index) {
      if silent.insert(partition.index).inserted { isNews = true }
    }
    return isNews
  }

  /// Decides anew what must wait; returns whether that changed.
  mutating func settle(_ progress: PartitionProgress) -> Bool {
    let reports = progress.partitions.map { partition in
      let isSilent = partition.watermark.time == .min && silent.contains(partition.index)
      return (
        member: AlignmentGroup.Member(node: node, partition: partition.index), time: partition.watermark.time,
        counts: !partition.watermark.isIdle && !partition.isEnded && !isSilent
      )
    }
    let decisions = group.settle(reports, drift: drift, subtask: subtask)
    var next: Set<Int> = []
    for (report, mustWait) in zip(reports, decisions) where mustWait { next.insert(report.member.partition) }
    guard next != paused else { return false }
    paused = next
    return true
  }
}
