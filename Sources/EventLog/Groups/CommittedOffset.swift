import Bytes

/// How far a group came in one partition.
///
/// Encoded (behind version and CRC): offset and time of the commit (i64 each), number of ranges (u32); then per range
/// in LEB128 its distance from the end of the one before (the first: from the offset) and its length.
struct CommittedOffset: Hashable, Sendable {
  /// The next offset to be read: everything before is finished.
  var offset: Int64
  var at: Timestamp
  /// Offsets behind it that are finished, too.
  var finished = OffsetRanges()

  init(offset: Int64, at: Timestamp, finished: OffsetRanges = OffsetRanges()) {
    self.offset = offset
    self.at = at
    self.finished = finished
    self.finished.removeAll(below: offset)
  }

  static func key(topic: UInt64, partition: Int) -> [UInt8] {
    var key = ByteBuffer(capacity: 16)
    key.append(bigEndian: topic)
    key.append(bigEndian: UInt32(truncatingIfNeeded: partition))
    return key.array
  }

  func encoded() -> [UInt8] {
    var body = ByteBuffer(capacity: 32 + finished.ranges.count * 4)
    body.append(offset)
    body.append(at.microseconds)
    body.append(UInt32(truncatingIfNeeded: finished.ranges.count))
    var previous = offset
    for range in finished.ranges {
      body.append(leb128: UInt64(range.lowerBound - previous))
      body.append(leb128: UInt64(range.upperBound - range.lowerBound))
      previous = range.upperBound
    }
    return Sealed.wrap(body)
  }

  init(_ value: UnsafeRawBufferPointer, path: String) throws(EventLogError) {
    let body = unsafe try Sealed.unwrap(value, atLeast: 20, "a committed offset", path: path)
    unsafe offset = body.little(Int64.self, at: 0)
    unsafe at = Timestamp(microseconds: body.little(Int64.self, at: 8))
    let count = Int(unsafe body.little(UInt32.self, at: 16))
    var place = 20
    var previous = offset
    for _ in 0..<count {
      guard let distance = unsafe body.leb128(at: &place), let length = unsafe body.leb128(at: &place),
        case (let start, let isTooFar) = previous.addingReportingOverflow(distance), !isTooFar,
        case (let end, let isTooLong) = start.addingReportingOverflow(length), !isTooLong, length > 0
      else { throw EventLogError(.damaged, "the finished ranges of a committed offset are damaged", path: path) }
      finished.insert(start..<end)
      previous = end
    }
  }
}

extension ByteBuffer {
  fileprivate mutating func append(leb128 value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
  }
}

extension UnsafeRawBufferPointer {
  /// A number below 2⁶³ at `place`, which moves behind it; nil if there is none.
  fileprivate func leb128(at place: inout Int) -> Int64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while place < count, shift < 63 {
      let byte = unsafe self[place]
      place += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return Int64(exactly: value) }
      shift += 7
    }
    return nil
  }
}
