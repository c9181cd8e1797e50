import Bytes

/// What the catalogue says of a segment.
///
/// Encoded (behind version and CRC): state u32 (1 sealed, 2 compacted, 4 batches joined), partitions u32, created at,
/// first and last append (µs), first sequence, next sequence (u64, sealed only), bytes, records, batches (i64, sealed
/// only), oldest tombstones (µs); then per partition: first offset, next offset, largest timestamp (i64 each; the last
/// two only when sealed).
struct SegmentRecord: Equatable, Sendable {
  var topic: UInt64
  var number: UInt64
  var isSealed = false
  var createdAt: Timestamp
  /// When its first and its last record were appended, by the log's clock; `createdAt` while there is none.
  var firstAppendAt: Timestamp
  var lastAppendAt: Timestamp
  var firstSequence: UInt64
  /// The sequence that the next segment begins with.
  var nextSequence: UInt64 = 0
  var bytes = 0
  /// How many records and batches it holds. There are fewer records than offsets once it was compacted.
  var records: Int64 = 0
  var batches: Int64 = 0
  /// Whether no record in it, nor before it, is older than another of its key up to the segment's end.
  var isCompacted = false
  /// Whether small batches in it have been joined, as far as they can be.
  var isJoined = false
  /// When those of its tombstones were first compacted that have been so for longest, µs; `Int64.max` without any.
  var oldestTombstones: Int64 = .max
  /// Every partition's next offset when the segment began, and when it was sealed.
  var starts: [Int64]
  var ends: [Int64] = []
  /// Every partition's largest timestamp, `Int64.min` without records.
  var maximumTimestamps: [Int64] = []

  init(topic: UInt64, number: UInt64, createdAt: Timestamp, firstSequence: UInt64, starts: [Int64]) {
    self.topic = topic
    self.number = number
    self.createdAt = createdAt
    firstAppendAt = createdAt
    lastAppendAt = createdAt
    self.firstSequence = firstSequence
    self.starts = starts
  }

  /// Makes it sealed: the segment, whose file has `bytes`, ends with `tail`.
  mutating func seal(_ tail: SegmentTail, bytes: Int) {
    isSealed = true
    nextSequence = tail.nextSequence
    self.bytes = bytes
    ends = tail.nextOffsets
    maximumTimestamps = tail.maximumTimestamps
    records = zip(starts, ends).reduce(0) { $0 + $1.1 - $1.0 }
    batches = Int64(clamping: tail.nextSequence - firstSequence)
    if let first = tail.firstAppendAt { firstAppendAt = Timestamp(microseconds: first) }
    if let last = tail.lastAppendAt { lastAppendAt = Timestamp(microseconds: last) }
  }

  static func key(topic: UInt64, number: UInt64) -> [UInt8] {
    var key = ByteBuffer(capacity: 16)
    key.append(bigEndian: topic)
    key.append(bigEndian: number)
    return key.array
  }

  var key: [UInt8] { Self.key(topic: topic, number: number) }

  func encoded() -> [UInt8] {
    var body = ByteBuffer(capacity: 64 + starts.count * 24)
    body.append(UInt32((isSealed ? 1 : 0) | (isCompacted ? 2 : 0) | (isJoined ? 4 : 0)))
    body.append(UInt32(truncatingIfNeeded: starts.count))
    for time in [createdAt, firstAppendAt, lastAppendAt] { body.append(time.microseconds) }
    body.append(firstSequence)
    body.append(nextSequence)
    body.append(Int64(bytes))
    body.append(records)
    body.append(batches)
    body.append(oldestTombstones)
    for start in starts { body.append(start) }
    if isSealed {
      for end in ends { body.append(end) }
      for timestamp in maximumTimestamps { body.append(timestamp) }
    }
    return Sealed.wrap(body)
  }

  init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, path: String) throws(EventLogError) {
    let body = unsafe try Sealed.unwrap(value, atLeast: 80, "a segment", path: path)
    let partitions = Int(unsafe body.little(UInt32.self, at: 4))
    let state = unsafe body.little(UInt32.self, at: 0)
    let isSealed = state & 1 != 0
    guard key.count == 16, body.count == 80 + partitions * (isSealed ? 24 : 8) else {
      throw EventLogError(.damaged, "the entry of a segment has a wrong size", path: path)
    }
    func time(_ offset: Int) -> Timestamp { Timestamp(microseconds: unsafe body.little(Int64.self, at: offset)) }
    func column(_ index: Int) -> [Int64] {
      (0..<partitions).map { unsafe body.little(Int64.self, at: 80 + (index * partitions + $0) * 8) }
    }
    unsafe topic = key.big(UInt64.self, at: 0)
    unsafe number = key.big(UInt64.self, at: 8)
    self.isSealed = isSealed
    isCompacted = state & 2 != 0
    isJoined = state & 4 != 0
    createdAt = time(8)
    firstAppendAt = time(16)
    lastAppendAt = time(24)
    unsafe firstSequence = body.little(UInt64.self, at: 32)
    unsafe nextSequence = body.little(UInt64.self, at: 40)
    unsafe bytes = Int(truncatingIfNeeded: body.little(Int64.self, at: 48))
    unsafe records = body.little(Int64.self, at: 56)
    unsafe batches = body.little(Int64.self, at: 64)
    unsafe oldestTombstones = body.little(Int64.self, at: 72)
    starts = column(0)
    if isSealed {
      ends = column(1)
      maximumTimestamps = column(2)
    }
  }
}
