import Bytes

/// Which records a compaction keeps.
struct Selection: ~Copyable {
  enum Fate {
    case keep, superseded, expired
  }

  /// Nil keeps everything.
  private let latest: LatestOffsets?
  /// In µs; nil keeps every tombstone.
  private let tombstoneDelay: Int64?
  private let now: Timestamp

  init(latest: consuming LatestOffsets?, tombstoneDelay: Int64?, now: Timestamp) {
    self.latest = latest
    self.tombstoneDelay = tombstoneDelay
    self.now = now
  }

  /// When the tombstones of a batch, if it has any, were first compacted: now, if it never was. Nil if it has none.
  func tombstonesSince(_ header: BatchHeader) -> Int64? {
    if !header.flags.contains(.compacted) { return now.microseconds }
    return header.appendedAt == .min ? nil : header.appendedAt
  }

  /// What becomes of `record`, of a batch whose tombstones were first compacted at `since`.
  ///
  /// A tombstone may go when no older record of its key is left before it: if its segment `isCompacted`, or if its key
  /// is among those that are collected.
  @inline(__always)
  func fate(of record: LogRecord, partition: Int, since: Int64?, isCompacted: Bool) -> Fate {
    if !record.hasKey { return .keep }
    let last = unsafe latest?.offset(of: record.key, partition: partition)
    if let last, last > record.offset { return .superseded }
    guard record.isTombstone, let since, let tombstoneDelay, last != nil || isCompacted else { return .keep }
    return now.microseconds.saturatingSubtract(since) >= tombstoneDelay ? .expired : .keep
  }
}

extension LogRecord {
  /// Whether it says, in a topic with compaction, that its key has no value any more: a key and an empty value.
  public var isTombstone: Bool { unsafe hasKey && value.isEmpty }
}
