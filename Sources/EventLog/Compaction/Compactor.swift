import Bytes
import LMDB

/// One compaction of a topic, on the topic's compaction thread: replaces sealed segments by smaller ones.
///
/// A pass collects the latest offsets of the keys in segments that were never compacted, as many as fit into memory,
/// then goes over all segments from the oldest on and writes those anew that hold older records of these keys. Each
/// replacement is swapped in before the next is begun, so a segment called compacted has only compacted ones before it.
struct Compactor {
  enum Purpose {
    /// Keep the latest record of each key.
    case compact(Compaction)
    /// Keep every record, join small batches.
    case join
  }

  let writer: TopicWriter
  let purpose: Purpose
  let control: CompactionControl
  let now: Timestamp
  let opener = BatchOpener()
  var result = CompactionResult()
  /// Per partition up to where earlier passes have collected keys.
  var collected: [Int64]
  /// The sequence at which the last segment ends that is looked at.
  let end: UInt64

  var state: TopicState { writer.state }
  var core: LogCore { writer.core }

  init?(_ writer: TopicWriter, _ purpose: Purpose, _ control: CompactionControl) throws {
    self.writer = writer
    self.purpose = purpose
    self.control = control
    now = writer.core.options.clock()
    collected = Array(repeating: 0, count: writer.state.partitions)
    var minimumAge = Duration.zero
    if case .compact(let policy) = purpose { minimumAge = policy.minimumAge }
    let eligible = try CompactionNeed.eligible(writer.state.snapshot().segments, now, minimumAge)
    guard let last = eligible.last else { return nil }
    end = last.nextSequence
  }

  /// The segments looked at, as they are now.
  func segments() throws -> [SegmentRecord] {
    try state.snapshot().segments.filter { $0.isSealed && $0.nextSequence <= end }
  }

  mutating func run() throws -> CompactionResult {
    while !core.compactionGate.wait(milliseconds: 50) { try control.check(state) }
    defer { core.compactionGate.signal() }
    try step(.began)
    let before = try segments()
    result.segmentsBefore = before.count
    result.recordsBefore = before.reduce(0) { $0 + $1.records }
    result.bytesBefore = before.reduce(0) { $0 + $1.bytes }
    switch purpose {
    case .compact(let policy): try compact(policy)
    case .join: try join()
    }
    let after = try segments()
    result.segmentsAfter = after.count
    result.recordsAfter = after.reduce(0) { $0 + $1.records }
    result.bytesAfter = after.reduce(0) { $0 + $1.bytes }
    return result
  }

  private mutating func compact(_ policy: Compaction) throws {
    var isMore = true
    while isMore {
      let segments = try segments()
      if segments.allSatisfy({ $0.isCompacted && !CompactionNeed.hasDueTombstones($0, policy, now) }) { return }
      result.passes += 1
      do {
        isMore = try pass(segments, policy)
      } catch is Outdated {
        // Retention was here: the same again with what there is now.
      }
    }
  }

  private mutating func join() throws {
    for segment in try segments() where CompactionNeed.hasSmallBatches(segment) {
      result.passes = 1
      control.expect(bytes: segment.bytes)
      do {
        try replace([segment], with: Selection(latest: nil, tombstoneDelay: nil, now: now), mapBytes: 2 * segment.bytes)
      } catch is Outdated {
        continue
      }
    }
  }

  /// What is thrown where retention has removed what was being worked on.
  struct Outdated: Error {}

  func step(_ step: CompactionStep) throws {
    try control.check(state)
    try core.options.onCompactionStep?(step)
  }
}

extension Compactor {
  /// One pass; returns whether another is needed because not all keys did fit.
  private mutating func pass(_ segments: [SegmentRecord], _ policy: Compaction) throws -> Bool {
    var latest = LatestOffsets(limit: core.options.compactionBytes)
    let first = segments.firstIndex { !$0.isCompacted } ?? segments.count
    control.expect(bytes: segments[first...].reduce(0) { $0 + $1.bytes } + segments.reduce(0) { $0 + $1.bytes })
    var reached = collected
    var complete = first
    while complete < segments.count, try collect(segments[complete], into: &latest, &reached) { complete += 1 }
    try step(.keysCollected)
    let isAll = complete == segments.count
    let touched = isAll ? segments : Array(segments[...complete])
    let selection = Selection(
      latest: latest, tombstoneDelay: policy.tombstoneDelay.wholeMicroseconds, now: now)
    try replaceWhatNeedsIt(touched, complete: complete, selection)
    collected = reached
    return !isAll
  }

  /// Collects the keys of a segment from where earlier passes came to; returns whether it came to its end.
  private func collect(_ segment: SegmentRecord, into latest: inout LatestOffsets, _ reached: inout [Int64]) throws
    -> Bool
  {
    let file = try open(segment)
    var isWhole = true
    var offsets = reached
    try file.forEachBatch(of: segment, topic: state.name, opener) { header, batch in
      if batch.lastOffset < offsets[batch.partition] { return true }
      try control.check(state)
      // A batch is collected wholly, or again by the next pass; but at least one.
      let isForced = latest.count == 0
      for record in batch where record.hasKey {
        if unsafe !latest.note(
          record.key, partition: batch.partition, offset: record.offset, isForced: isForced)
        {
          isWhole = false
          return false
        }
      }
      offsets[batch.partition] = batch.lastOffset + 1
      control.did(bytes: header.recordBytes)
      return true
    }
    reached = offsets
    return isWhole
  }

  func open(_ segment: SegmentRecord) throws -> SegmentFile {
    do {
      return try state.file(of: segment)
    } catch {
      let isThere = try state.snapshot().segments.contains { $0.number == segment.number }
      throw isThere ? error : Outdated()
    }
  }
}
