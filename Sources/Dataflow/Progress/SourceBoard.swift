import Bytes
import Synchronization

/// Where one source's partitions stand, for whoever asks: written once per poll by the subtasks that read them,
/// readable from any thread.
final class SourceBoard: Sendable {
  let name: String
  private let cells: [Cell]

  private final class Cell: Sendable {
    let watermark: Atomic<Int64>
    let movedAt: Atomic<Int64>
    let latest = Atomic<Int64>(.min)
    let flags: Atomic<Int>

    init(_ partition: PartitionProgress.Partition, now: Int64) {
      watermark = Atomic(partition.watermark.time.microseconds)
      movedAt = Atomic(now)
      flags = Atomic((partition.watermark.isIdle ? Flag.idle : 0) | (partition.isEnded ? Flag.ended : 0))
    }
  }

  private enum Flag {
    static let idle = 1
    static let ended = 2
    static let paused = 4
  }

  init(_ name: String, _ partitions: [PartitionProgress.Partition], now: Int64) {
    self.name = name
    cells = partitions.map { Cell($0, now: now) }
  }

  func note(_ partition: PartitionProgress.Partition, isPaused: Bool, now: Int64) {
    guard cells.indices.contains(partition.index) else { return }
    let cell = cells[partition.index]
    let time = partition.watermark.time.microseconds
    if cell.watermark.exchange(time, ordering: .relaxed) != time { cell.movedAt.store(now, ordering: .relaxed) }
    cell.latest.store(partition.latest.microseconds, ordering: .relaxed)
    let flags =
      (partition.watermark.isIdle ? Flag.idle : 0) | (partition.isEnded ? Flag.ended : 0) | (isPaused ? Flag.paused : 0)
    cell.flags.store(flags, ordering: .relaxed)
  }

  /// The partitions as they stand at `now`, `time` of day.
  func snapshot(now: Int64, time: Timestamp) -> [PartitionStanding] {
    cells.enumerated().map { index, cell in
      let flags = cell.flags.load(ordering: .relaxed)
      let latest = cell.latest.load(ordering: .relaxed)
      let still = max(0, now - cell.movedAt.load(ordering: .relaxed))
      return PartitionStanding(
        source: name, partition: index, watermark: Timestamp(microseconds: cell.watermark.load(ordering: .relaxed)),
        isIdle: flags & Flag.idle != 0, isEnded: flags & Flag.ended != 0, isPaused: flags & Flag.paused != 0,
        unmovedSince: time.advanced(byMicroseconds: -still), unmovedFor: .microseconds(still),
        latestRecord: latest == .min ? nil : Timestamp(microseconds: latest), holdsBack: false)
    }
  }
}
