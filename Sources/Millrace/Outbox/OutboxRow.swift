import Bytes
import EventLog

/// Records on their way from a job to a topic, as one value of the outbox: a checksum, their number, and each as
/// lengths, time, key and value.
struct OutboxRow: ~Copyable, Sendable {
  /// Bounds of a row; the log takes a whole one in one batch.
  static let maximumRecords = 4096
  static let maximumBytes = 1 << 20

  private(set) var count = 0
  private var buffer = ByteBuffer(capacity: 4096)

  /// Bytes of a record beside its key and value.
  static let recordHead = 16
  /// The largest record that fits into one batch of the log.
  static let maximumRecordBytes = (16 << 20) - recordHead

  /// Whether another record of `bytes` should begin a new row.
  func isFull(for bytes: Int) -> Bool {
    count > 0 && (count >= Self.maximumRecords || buffer.count + Self.recordHead + bytes > Self.maximumBytes)
  }

  mutating func append(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, timestamp: Timestamp) {
    if count == 0 {
      buffer.append(UInt32(0))
      buffer.append(UInt32(0))
    }
    count += 1
    buffer.append(UInt32(truncatingIfNeeded: key.count))
    buffer.append(UInt32(truncatingIfNeeded: value.count))
    buffer.append(timestamp.microseconds)
    unsafe buffer.append(key)
    unsafe buffer.append(value)
  }

  /// The finished row.
  consuming func finish() -> SealedRow {
    unsafe buffer.mutableBytes.storeBytes(
      of: UInt32(truncatingIfNeeded: count).littleEndian, toByteOffset: 4, as: UInt32.self)
    let checksum = unsafe CRC32C.checksum(buffer.bytes.slice(4, buffer.count - 4))
    unsafe buffer.mutableBytes.storeBytes(of: checksum.littleEndian, toByteOffset: 0, as: UInt32.self)
    return SealedRow(bytes: buffer.array, count: count)
  }

  /// The records of a stored row; nil if its checksum or its lengths do not fit.
  static func decode(_ bytes: UnsafeRawBufferPointer) -> [NewRecord]? {
    guard bytes.count >= 8 else { return nil }
    guard unsafe CRC32C.checksum(bytes.slice(4, bytes.count - 4)) == bytes.little(UInt32.self, at: 0) else {
      return nil
    }
    let count = unsafe Int(bytes.little(UInt32.self, at: 4))
    var records: [NewRecord] = []
    records.reserveCapacity(min(count, maximumRecords))
    var position = 8
    for _ in 0..<count {
      guard bytes.count - position >= 16 else { return nil }
      let keyCount = unsafe Int(bytes.little(UInt32.self, at: position))
      let valueCount = unsafe Int(bytes.little(UInt32.self, at: position + 4))
      let time = unsafe bytes.little(Int64.self, at: position + 8)
      position += 16
      guard keyCount + valueCount <= bytes.count - position else { return nil }
      records.append(
        NewRecord(
          key: unsafe [UInt8](bytes.slice(position, keyCount)),
          value: unsafe [UInt8](bytes.slice(position + keyCount, valueCount)), timestamp: Timestamp(microseconds: time))
      )
      position += keyCount + valueCount
    }
    return position == bytes.count ? records : nil
  }
}

/// A row that is ready to be stored.
struct SealedRow: Sendable {
  var bytes: [UInt8]
  var count: Int
}
