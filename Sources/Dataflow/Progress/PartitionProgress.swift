import Bytes

/// Where one source stands on one subtask: position and watermark of each partition that the subtask owns.
///
/// Decides only; the subtask's loop acts on what it returns.
struct PartitionProgress {
  struct Partition {
    let index: Int
    /// The next position to read.
    var position: Int64
    /// The position at which a bounded run ends.
    let end: Int64?
    var watermark: Watermark
    /// When the last record came, or the run began, in microseconds of the runtime's clock.
    var lastActivity: Int64
    /// The greatest timestamp read in this run.
    var latest = Timestamp.min
    var isEnded: Bool { if let end { position >= end } else { false } }
  }

  private(set) var partitions: [Partition]
  private let slots: [Int: Int]
  private let strategy: WatermarkStrategy
  /// Whether a partition at its end holds nobody back: not where another run goes on from there.
  private let endIsFinal: Bool
  private var merge: WatermarkMerge

  init(_ partitions: [Partition], strategy: WatermarkStrategy, endIsFinal: Bool) {
    self.partitions = partitions
    self.strategy = strategy
    var slots = [Int: Int](minimumCapacity: partitions.count)
    for (slot, partition) in partitions.enumerated() { slots[partition.index] = slot }
    self.slots = slots
    self.endIsFinal = endIsFinal
    merge = WatermarkMerge(count: partitions.count)
    for slot in partitions.indices { report(slot) }
    _ = merge.settle()
  }

  /// The watermark of the source on this subtask as of the last `settle`.
  var watermark: Watermark { merge.current }

  /// Draws the conclusion from what was reported; returns the watermark if it changed.
  mutating func settle() -> Watermark? { merge.settle() }

  /// Whether every partition came to its end; a subtask without partitions has.
  var isEnded: Bool { partitions.allSatisfy(\.isEnded) }

  /// Where partition `index` stands, if the subtask owns it.
  func partition(_ index: Int) -> Partition? { slots[index].map { partitions[$0] } }

  /// Whether the records of partition `index` may be read on this subtask.
  func owns(_ index: Int) -> Bool { slots[index] != nil }

  /// Records up to `position` of partition `index` were read, the latest at `latest` (nil: none was left to read).
  /// The watermark follows from it unless `watermark` says better.
  mutating func advance(
    _ index: Int, to position: Int64, latest: Timestamp?, watermark: Timestamp? = nil, now: Int64
  ) {
    guard let slot = slots[index] else { return }
    partitions[slot].position = max(position, partitions[slot].position)
    if let latest {
      partitions[slot].lastActivity = now
      partitions[slot].watermark.isIdle = false
      partitions[slot].latest = max(partitions[slot].latest, latest)
      let reached = watermark ?? strategy.watermark(after: latest)
      partitions[slot].watermark.time = max(partitions[slot].watermark.time, reached)
    }
    report(slot)
  }

  /// Declares idle what had no record for too long; returns when to look again. Partitions that are `paused` are not
  /// read, so their silence says nothing.
  mutating func checkIdleness(now: Int64, except paused: Set<Int> = []) -> Int64? {
    guard let idleness = strategy.idleness else { return nil }
    var next: Int64?
    for slot in partitions.indices where !partitions[slot].watermark.isIdle && !partitions[slot].isEnded {
      if !paused.isEmpty && paused.contains(partitions[slot].index) { partitions[slot].lastActivity = now }
      let due = partitions[slot].lastActivity.saturatingAdd(idleness)
      if due <= now {
        partitions[slot].watermark.isIdle = true
        report(slot)
      } else {
        next = min(next ?? due, due)
      }
    }
    return next
  }

  /// Lets watermarks follow the clock, for strategies that do: no record at or before `time` will come.
  mutating func follow(clock time: Timestamp) {
    for slot in partitions.indices where !partitions[slot].isEnded && time > partitions[slot].watermark.time {
      partitions[slot].watermark.time = time
      report(slot)
    }
  }

  private mutating func report(_ slot: Int) {
    let partition = partitions[slot]
    let isIdle = partition.watermark.isIdle || (endIsFinal && partition.isEnded)
    merge.note(slot, Watermark(partition.watermark.time, isIdle: isIdle))
  }
}
