import Bytes
import LMDB

/// Where a segment ends: what the next batch of each partition needs to know.
struct SegmentTail: Sendable {
  /// An index entry is written before a batch when this many bytes of its partition have gone by.
  static let indexInterval = 64 << 10
  /// Or when this many batches of the topic have gone by: a seek passes over no more keys than that.
  static let indexSequences: UInt64 = 4096

  /// The sequence of the next batch.
  var nextSequence: UInt64
  var nextOffsets: [Int64]
  /// Per partition, within this segment; `Int64.min` without records.
  var maximumTimestamps: [Int64]
  /// Bytes since the partition's last index entry; `Int.max` before its first batch.
  var bytesSinceIndex: [Int]
  /// The sequence of the partition's last index entry.
  var indexedAt: [UInt64]
  var firstAppendAt: Int64?
  var lastAppendAt: Int64?
  /// The latest time, by the log's clock, that is known to be in the topic.
  private(set) var lastTime: Int64

  /// The tail of a segment in which there is nothing yet.
  init(beginning record: SegmentRecord) {
    nextSequence = record.firstSequence
    nextOffsets = record.starts
    lastTime = record.createdAt.microseconds
    maximumTimestamps = Array(repeating: .min, count: record.starts.count)
    bytesSinceIndex = Array(repeating: .max, count: record.starts.count)
    indexedAt = Array(repeating: 0, count: record.starts.count)
  }

  /// Whether the next batch of `partition` gets an entry in the index.
  func needsIndexEntry(_ partition: Int) -> Bool {
    bytesSinceIndex[partition] >= Self.indexInterval || nextSequence - indexedAt[partition] >= Self.indexSequences
  }

  /// The time of records that get it at their commit: `now`, or the topic's last time if the clock was set back.
  func stamp(_ now: Timestamp) -> Timestamp { max(now, Timestamp(microseconds: lastTime)) }

  /// Takes a batch into account. Its fields have been checked or are made to be safe by `endOffset`.
  mutating func add(_ key: BatchKey, _ header: BatchHeader, bytes: Int) {
    nextSequence = key.sequence + 1
    guard nextOffsets.indices.contains(key.partition) else { return }
    nextOffsets[key.partition] = Self.endOffset(key, header)
    maximumTimestamps[key.partition] = max(maximumTimestamps[key.partition], header.maximumTimestamp)
    let since = bytesSinceIndex[key.partition]
    bytesSinceIndex[key.partition] = since == .max ? bytes : since + bytes
    firstAppendAt = firstAppendAt ?? header.appendedAt
    lastAppendAt = header.appendedAt
    lastTime = max(lastTime, header.appendedAt)
  }

  /// The offset behind a batch. If its header is damaged, one that certainly was never given away: the gap is then
  /// reported as missing, and no offset is used twice.
  static func endOffset(_ key: BatchKey, _ header: BatchHeader) -> Int64 {
    let isSound =
      header.firstOffset == key.offset && header.partition == key.partition && header.isCountPossible
    return isSound ? header.lastOffset + 1 : key.offset + Int64(OpenBatch.maximumCount)
  }
}

extension SegmentFile {
  /// The sequence of the last batch; nil if there is none.
  func lastSequence() throws -> UInt64? {
    try environment.read { transaction in
      try transaction.withCursor(batches) { cursor in
        guard try cursor.last(), let key = unsafe BatchKey(cursor.key) else { return nil }
        return key.sequence
      }
    }
  }

  /// Takes into `tail` every batch from its next sequence on; touches only their headers.
  func advance(_ tail: inout SegmentTail) throws {
    var moved = tail
    try environment.read { transaction in
      try transaction.withCursor(batches) { cursor in
        var isThere = unsafe try BatchKey(sequence: moved.nextSequence, partition: 0, offset: 0).withBytes {
          unsafe try cursor.seek(atLeast: $0)
        }
        while isThere {
          if let key = unsafe BatchKey(cursor.key) {
            // A batch too short for a header is damaged; `endOffset` makes room for what it may have held.
            let header = unsafe cursor.value.count >= BatchHeader.size ? BatchHeader(cursor.value) : BatchHeader()
            moved.add(key, header, bytes: unsafe cursor.value.count)
          }
          isThere = try cursor.next()
        }
      }
    }
    tail = moved
  }

  /// Finds the end of the live segment `record` after opening it: reads all its keys and batch headers. The producers
  /// it tells of are bounded by `limit` and `expiry` in µs from then on.
  func recover(_ record: SegmentRecord, limit: Int = .max, expiry: Int64 = .max) throws -> (SegmentTail, ProducerTable)
  {
    var tail = SegmentTail(beginning: record)
    try advance(&tail)
    let producers = try environment.read { transaction in
      let isOurs = try unsafe SegmentMeta.headerKey.withUnsafeBytes { key in
        guard let header = unsafe try transaction.get(meta, key) else { return false }
        return unsafe SegmentMeta.matches(header, record)
      }
      if !isOurs {
        throw EventLogError(
          .damaged, "the file is not the segment that the catalogue names; restore it from a backup", path: path)
      }
      return try transaction.withCursor(meta) { cursor in
        var entries: [ProducerTable.Key: ProducerTable.Entry] = [:]
        var names: [UInt64: ProducerTable.Registration] = [:]
        var isThere = try unsafe [UInt8(2)].withUnsafeBytes { unsafe try cursor.seek(atLeast: $0) }
        while isThere {
          if let (key, entry) = unsafe SegmentMeta.producer(key: cursor.key, value: cursor.value) {
            entries[key] = entry
          } else if let (producer, name) = unsafe SegmentMeta.registration(key: cursor.key, value: cursor.value) {
            names[producer] = name
          }
          isThere = try cursor.next()
        }
        return ProducerTable(entries, registrations: names, limit: limit, expiry: expiry)
      }
    }
    // The bytes since the last index entry are not known: one entry more does no harm.
    for partition in tail.bytesSinceIndex.indices { tail.bytesSinceIndex[partition] = .max }
    return (tail, producers)
  }

  /// The last index entry of `partition` at or before `offset`.
  func indexEntry(partition: Int, atOrBefore offset: Int64) throws -> IndexEntry? {
    try environment.read { transaction in
      try transaction.withCursor(index) { cursor in
        let target = IndexEntry(partition: partition, offset: offset)
        var isThere = try unsafe target.key.withUnsafeBytes { unsafe try cursor.seek(atLeast: $0) }
        if isThere, let entry = unsafe IndexEntry(key: cursor.key, value: cursor.value),
          entry.partition == partition, entry.offset == offset
        {
          return entry
        }
        isThere = isThere ? try cursor.previous() : try cursor.last()
        guard isThere, let entry = unsafe IndexEntry(key: cursor.key, value: cursor.value),
          entry.partition == partition
        else { return nil }
        return entry
      }
    }
  }

  /// The last index entry of `partition` before which every timestamp is smaller than `timestamp`.
  func indexEntry(partition: Int, beforeTimestamp timestamp: Int64) throws -> IndexEntry? {
    try environment.read { transaction in
      try transaction.withCursor(index) { cursor in
        var found: IndexEntry?
        var isThere = try unsafe IndexEntry(partition: partition, offset: 0).key.withUnsafeBytes {
          unsafe try cursor.seek(atLeast: $0)
        }
        while isThere, let entry = unsafe IndexEntry(key: cursor.key, value: cursor.value),
          entry.partition == partition, entry.maximumTimestampBefore < timestamp || found == nil
        {
          found = entry
          isThere = try cursor.next()
        }
        return found
      }
    }
  }
}
