public import Bytes

/// Records of one partition that lie together: a sequence of `LogRecord`s inside the map, or inside the reader's own
/// memory if they are compressed on disk.
///
/// Its checksum has been verified. Valid inside the closure that was given it; iterate as often as you like.
@frozen
@safe
public struct LogBatch: Sequence {
  public let partition: Int
  /// The batch stands for the offsets from this one, where the reader stood or the batch's own first, …
  public let firstOffset: Int64
  /// … to this one; the next batch begins behind it. Where compaction removed records, not all of them have one, and
  /// there may be none at all.
  public let lastOffset: Int64
  /// The number of records of the iteration.
  public let count: Int
  /// The smallest and the largest timestamp of the whole batch; `.max` and `.min` where it has no record.
  public let minimumTimestamp: Timestamp
  public let maximumTimestamp: Timestamp
  /// The idempotent producer that appended it, if one did. Not known any more once the batch was rewritten.
  public let producer: ProducerID?
  @usableFromInline let baseTimestamp: Int64
  /// The offset from which `distances` count; without them, that of the first record.
  @usableFromInline let baseOffset: Int64
  // Invariant: `count` records, in memory that outlives the closure, as `fault` does; `distances` points to as many
  // rising numbers.
  @usableFromInline let records: UnsafeRawBufferPointer
  @usableFromInline let distances: UnsafeRawPointer?
  @usableFromInline let fault: UnsafeMutablePointer<Bool>

  /// The size of the records in bytes, framing included.
  @inlinable
  public var byteCount: Int { unsafe records.count }

  // `underestimatedCount` stays 0: it is a promise, and damaged framing ends the iteration early.

  @inlinable
  public func makeIterator() -> Iterator {
    unsafe Iterator(
      records: records, count: count, offset: baseOffset, distances: distances, baseTimestamp: baseTimestamp,
      fault: fault)
  }

  /// Walks the records of a batch. Ends early where the framing does not fit, which the reader then reports as damage.
  @frozen
  @safe
  public struct Iterator: IteratorProtocol {
    // Invariant: `position` ≤ `end`, both in the batch.
    @usableFromInline var position: UnsafeRawPointer
    @usableFromInline let end: UnsafeRawPointer
    @usableFromInline var remaining: Int
    @usableFromInline var offset: Int64
    @usableFromInline var distances: UnsafeRawPointer?
    @usableFromInline let baseTimestamp: Int64
    @usableFromInline let fault: UnsafeMutablePointer<Bool>

    @inlinable
    init(
      records: UnsafeRawBufferPointer, count: Int, offset: Int64, distances: UnsafeRawPointer?, baseTimestamp: Int64,
      fault: UnsafeMutablePointer<Bool>
    ) {
      if let base = records.baseAddress {
        unsafe position = unsafe base
        unsafe end = unsafe base + records.count
        remaining = count
      } else {
        unsafe position = UnsafeRawPointer(fault)
        unsafe end = unsafe position
        remaining = 0
      }
      self.offset = offset
      unsafe self.distances = unsafe distances
      self.baseTimestamp = baseTimestamp
      unsafe self.fault = unsafe fault
    }

    @inlinable
    public mutating func next() -> LogRecord? {
      guard remaining > 0 else { return nil }
      var available = unsafe end - position
      guard available >= RecordFraming.prefixBytes else { return stop() }
      let word = unsafe UInt64(littleEndian: position.loadUnaligned(as: UInt64.self))
      var start = unsafe position + RecordFraming.prefixBytes
      available &-= RecordFraming.prefixBytes
      let valueCount = Int(truncatingIfNeeded: word & 0xFF_FFFF)
      let keyField = (word >> 24) & 0xFFFF
      let hasKey = keyField != RecordFraming.noKey
      let keyCount = hasKey ? Int(truncatingIfNeeded: keyField) : 0
      let timestampField = Int64(bitPattern: word) >> 41
      var timestamp = baseTimestamp &+ timestampField
      var headerCount = 0
      if timestampField == RecordFraming.farTimestamp || word & RecordFraming.headersFlag != 0 {
        if timestampField == RecordFraming.farTimestamp {
          guard available >= 8 else { return stop() }
          timestamp = unsafe Int64(littleEndian: start.loadUnaligned(as: Int64.self))
          unsafe start += 8
          available &-= 8
        }
        if word & RecordFraming.headersFlag != 0 {
          guard available >= 4 else { return stop() }
          headerCount = unsafe Int(UInt32(littleEndian: start.loadUnaligned(as: UInt32.self)))
          unsafe start += 4
          available &-= 4
        }
      }
      guard keyCount &+ valueCount &+ headerCount <= available else { return stop() }
      let value = unsafe start + keyCount
      let headers = unsafe value + valueCount
      unsafe position = unsafe headers + headerCount
      remaining &-= 1
      let place: Int64
      if let distances = unsafe distances {
        place = unsafe offset &+ Int64(UInt32(littleEndian: distances.loadUnaligned(as: UInt32.self)))
        unsafe self.distances = unsafe distances + 4
      } else {
        place = offset
        offset &+= 1
      }
      return unsafe LogRecord(
        offset: place, timestamp: Timestamp(microseconds: timestamp), hasKey: hasKey,
        key: UnsafeRawBufferPointer(start: start, count: keyCount),
        value: UnsafeRawBufferPointer(start: value, count: valueCount),
        headerBytes: UnsafeRawBufferPointer(start: headers, count: headerCount))
    }

    @usableFromInline
    mutating func stop() -> LogRecord? {
      unsafe fault.pointee = true
      remaining = 0
      return nil
    }
  }
}

extension LogBatch {
  /// The view of a batch from `wanted` on. Sets `fault` if the framing ends before.
  init(
    _ header: BatchHeader, _ content: BatchContent, from wanted: Int64, fault: UnsafeMutablePointer<Bool>
  ) {
    partition = header.partition
    lastOffset = header.lastOffset
    minimumTimestamp = Timestamp(microseconds: header.minimumTimestamp)
    maximumTimestamp = Timestamp(microseconds: header.maximumTimestamp)
    producer = header.sequence < 0 ? nil : ProducerID(id: header.producer, epoch: header.epoch)
    baseTimestamp = header.baseTimestamp
    unsafe self.fault = unsafe fault
    firstOffset = Swift.max(wanted, header.firstOffset)
    let distance = firstOffset - header.firstOffset
    var skipped = Int(distance)
    if let all = unsafe content.distances {
      skipped = unsafe all.countBelow(distance, of: header.count)
      baseOffset = header.firstOffset
      unsafe distances = unsafe all + skipped * 4
    } else {
      baseOffset = firstOffset
      unsafe distances = nil
    }
    count = header.count - skipped
    unsafe records =
      skipped == 0
      ? unsafe content.records : unsafe LogBatch.dropping(skipped, of: content.records, header, fault)
  }

  /// The record bytes behind the first `count` records.
  static func dropping(
    _ count: Int, of records: UnsafeRawBufferPointer, _ header: BatchHeader, _ fault: UnsafeMutablePointer<Bool>
  ) -> UnsafeRawBufferPointer {
    var iterator = unsafe Iterator(
      records: records, count: count, offset: header.firstOffset, distances: nil,
      baseTimestamp: header.baseTimestamp, fault: fault)
    while iterator.next() != nil {}
    guard let base = records.baseAddress else { return unsafe records }
    let used = unsafe iterator.position - base
    return unsafe records.slice(used, records.count - used)
  }
}

extension UnsafeRawPointer {
  /// How many of the `count` rising numbers of 32 bits here are below `limit`.
  fileprivate func countBelow(_ limit: Int64, of count: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      let number = unsafe UInt32(littleEndian: (self + middle * 4).loadUnaligned(as: UInt32.self))
      if Int64(number) < limit { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Who appended, for appends that may be repeated: an identity, and the epoch that fences its older selves.
public struct ProducerID: Hashable, Sendable {
  public var id: UInt64
  public var epoch: UInt32

  public init(id: UInt64, epoch: UInt32) {
    self.id = id
    self.epoch = epoch
  }
}
