import Bytes

/// What of a topic should be compacted, by the catalogue alone.
enum CompactionNeed {
  /// Batches below this on average, in bytes, are joined.
  static let smallBatch = 4096
  /// But not so few.
  static let fewBatches: Int64 = 64

  /// The sealed segments up to the first whose last record was appended less than `minimumAge` ago.
  static func eligible(_ segments: [SegmentRecord], _ now: Timestamp, _ minimumAge: Duration) -> [SegmentRecord] {
    Array(segments.prefix { $0.isSealed && now.microseconds(since: $0.lastAppendAt) >= minimumAge.wholeMicroseconds })
  }

  /// Whether some of its tombstones have been there for long enough.
  static func hasDueTombstones(_ segment: SegmentRecord, _ policy: Compaction, _ now: Timestamp) -> Bool {
    segment.oldestTombstones != .max
      && now.microseconds.saturatingSubtract(segment.oldestTombstones) >= policy.tombstoneDelay.wholeMicroseconds
  }

  /// Whether joining its batches makes far fewer of them.
  static func hasSmallBatches(_ segment: SegmentRecord) -> Bool {
    guard segment.isSealed, !segment.isJoined, segment.batches >= fewBatches else { return false }
    let partitions = zip(segment.starts, segment.ends).reduce(into: Int64(0)) { $0 += $1.0 < $1.1 ? 1 : 0 }
    return Int64(segment.bytes) / segment.batches < Int64(smallBatch) && segment.batches >= 2 * partitions
  }

  /// What `maintain` does by itself now; nil for nothing.
  static func purpose(_ segments: [SegmentRecord], _ options: TopicOptions, _ now: Timestamp) -> Compactor.Purpose? {
    guard let policy = options.compaction else {
      return segments.contains(where: hasSmallBatches) ? .join : nil
    }
    let eligible = eligible(segments, now, policy.minimumAge)
    let all = eligible.reduce(0) { $0 + $1.bytes }
    let dirty = eligible.reduce(0) { $0 + ($1.isCompacted ? 0 : $1.bytes) }
    let isDirty = dirty > 0 && Double(dirty) >= policy.dirtyRatio * Double(all)
    return isDirty || eligible.contains { hasDueTombstones($0, policy, now) } ? .compact(policy) : nil
  }
}
