import Bytes

/// The keys of a segment's databases, big-endian so that they sort as numbers.
///
/// | database | key | value |
/// |---|---|---|
/// | `batches` | arrival sequence u64 ‖ partition u32 ‖ base offset u64 | batch |
/// | `index` | partition u32 ‖ base offset u64 | sequence u64 ‖ largest timestamp of the partition in the segment before this batch, i64 |
/// | `meta` | 0x00 | segment header |
/// | `meta` | 0x01 ‖ partition u32 | next offset of the partition when the segment began, i64 |
/// | `meta` | 0x02 ‖ partition u32 ‖ producer u64 | epoch u32 ‖ last sequence i64 ‖ its offset i64 ‖ used at i64, µs ‖ up to 5 stretches, oldest first: first sequence, count, first offset, i64 each |
/// | `meta` | 0x03 ‖ producer u64 | epoch u32 ‖ opened at i64, µs ‖ name in UTF-8 |
struct BatchKey: Equatable {
  static let size = 20
  var sequence: UInt64
  var partition: Int
  var offset: Int64

  init(sequence: UInt64, partition: Int, offset: Int64) {
    self.sequence = sequence
    self.partition = partition
    self.offset = offset
  }

  /// Nil if `bytes` are no such key.
  @inline(__always)
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.size else { return nil }
    unsafe sequence = bytes.big(UInt64.self, at: 0)
    unsafe partition = Int(bytes.big(UInt32.self, at: 8))
    unsafe offset = Int64(truncatingIfNeeded: bytes.big(UInt64.self, at: 12))
  }

  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try unsafe withUnsafeTemporaryAllocation(byteCount: Self.size, alignment: 8) { buffer in
      unsafe buffer.storeBytes(of: sequence.bigEndian, toByteOffset: 0, as: UInt64.self)
      unsafe buffer.storeBytes(of: UInt32(truncatingIfNeeded: partition).bigEndian, toByteOffset: 8, as: UInt32.self)
      unsafe buffer.storeBytes(of: offset.bigEndian, toByteOffset: 12, as: Int64.self)
      return try unsafe body(UnsafeRawBufferPointer(buffer))
    }
  }
}

/// An entry of the sparse index.
struct IndexEntry: Equatable {
  static let keySize = 12
  static let valueSize = 16
  var partition: Int
  var offset: Int64
  var sequence: UInt64
  /// `Int64.min` if there was no record before.
  var maximumTimestampBefore: Int64

  init(partition: Int, offset: Int64, sequence: UInt64 = 0, maximumTimestampBefore: Int64 = .min) {
    self.partition = partition
    self.offset = offset
    self.sequence = sequence
    self.maximumTimestampBefore = maximumTimestampBefore
  }

  init?(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    guard key.count == Self.keySize, value.count == Self.valueSize else { return nil }
    unsafe partition = Int(key.big(UInt32.self, at: 0))
    unsafe offset = Int64(truncatingIfNeeded: key.big(UInt64.self, at: 4))
    unsafe sequence = value.little(UInt64.self, at: 0)
    unsafe maximumTimestampBefore = value.little(Int64.self, at: 8)
  }

  var key: [UInt8] {
    var buffer = ByteBuffer(capacity: Self.keySize)
    buffer.append(bigEndian: UInt32(truncatingIfNeeded: partition))
    buffer.append(bigEndian: offset)
    return buffer.array
  }

  var value: [UInt8] {
    var buffer = ByteBuffer(capacity: Self.valueSize)
    buffer.append(sequence)
    buffer.append(maximumTimestampBefore)
    return buffer.array
  }
}
