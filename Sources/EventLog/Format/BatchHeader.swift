import Bytes

/// The first 96 bytes of a batch, little-endian.
///
/// | at | bytes | meaning |
/// |---|---|---|
/// | 0 | 4 | magic `MLB1` |
/// | 4 | 2 | version, 1 |
/// | 6 | 2 | flags: 1 compressed, 2 compacted; see `BatchContent` |
/// | 8 | 4 | CRC-32C of all behind the header, then of bytes 0–7, then of bytes 12–95 |
/// | 12 | 4 | number of records |
/// | 16 | 8 | first offset |
/// | 24 | 8 | last offset |
/// | 32 | 8 | base timestamp, µs |
/// | 40 | 8 | smallest timestamp |
/// | 48 | 8 | largest timestamp |
/// | 56 | 8 | producer id |
/// | 64 | 8 | producer's sequence number of the first record, −1 if the append was not idempotent |
/// | 72 | 4 | producer's epoch |
/// | 76 | 4 | partition |
/// | 80 | 8 | number of bytes that follow the header |
/// | 88 | 8 | appended at, µs, by the log's clock; in a compacted batch when its tombstones were first compacted |
///
/// A batch stands for every offset from the first to the last. It holds a record for each, unless it is compacted.
struct BatchHeader: Equatable {
  static let size = 96
  static let magic: UInt32 = 0x3142_4C4D
  static let version: UInt16 = 1

  struct Flags: OptionSet {
    let rawValue: UInt16
    /// What follows the header is compressed.
    static let compressed = Flags(rawValue: 1)
    /// Not every offset has a record: their offsets are listed before the records.
    static let compacted = Flags(rawValue: 2)
    static let known: Flags = [.compressed, .compacted]
  }

  var flags: Flags = []
  var count = 0
  var firstOffset: Int64 = 0
  var lastOffset: Int64 = 0
  var baseTimestamp: Int64 = 0
  var minimumTimestamp: Int64 = 0
  var maximumTimestamp: Int64 = 0
  var producer: UInt64 = 0
  var sequence: Int64 = -1
  var epoch: UInt32 = 0
  var partition = 0
  var recordBytes = 0
  var appendedAt: Int64 = 0

  init() {}

  /// Reads the fields without judging them; `bytes` has at least `size` bytes.
  init(_ bytes: UnsafeRawBufferPointer) {
    unsafe flags = Flags(rawValue: bytes.little(UInt16.self, at: 6))
    unsafe count = Int(bytes.little(UInt32.self, at: 12))
    unsafe firstOffset = bytes.little(Int64.self, at: 16)
    unsafe lastOffset = bytes.little(Int64.self, at: 24)
    unsafe baseTimestamp = bytes.little(Int64.self, at: 32)
    unsafe minimumTimestamp = bytes.little(Int64.self, at: 40)
    unsafe maximumTimestamp = bytes.little(Int64.self, at: 48)
    unsafe producer = bytes.little(UInt64.self, at: 56)
    unsafe sequence = bytes.little(Int64.self, at: 64)
    unsafe epoch = bytes.little(UInt32.self, at: 72)
    unsafe partition = Int(bytes.little(UInt32.self, at: 76))
    unsafe recordBytes = Int(truncatingIfNeeded: bytes.little(Int64.self, at: 80))
    unsafe appendedAt = bytes.little(Int64.self, at: 88)
  }

  /// Writes the header over the first `size` bytes of `batch`, checksum included; the records stand behind already.
  ///
  /// `recordsChecksum`: that of the records, if it is known; only the header's 92 bytes are then read.
  func write(to batch: UnsafeMutableRawBufferPointer, recordsChecksum: UInt32? = nil) {
    func put<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, _ offset: Int) {
      unsafe batch.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }
    put(Self.magic, 0)
    put(Self.version, 4)
    put(flags.rawValue, 6)
    put(UInt32(truncatingIfNeeded: count), 12)
    put(firstOffset, 16)
    put(lastOffset, 24)
    put(baseTimestamp, 32)
    put(minimumTimestamp, 40)
    put(maximumTimestamp, 48)
    put(producer, 56)
    put(sequence, 64)
    put(epoch, 72)
    put(UInt32(truncatingIfNeeded: partition), 76)
    put(Int64(recordBytes), 80)
    put(appendedAt, 88)
    let bytes = UnsafeRawBufferPointer(batch)
    unsafe put(Self.checksum(bytes, records: recordsChecksum ?? Self.recordsChecksum(bytes)), 8)
  }

  /// The checksum of everything behind the header: known before the header is, so appenders compute it.
  static func recordsChecksum(_ batch: UnsafeRawBufferPointer) -> UInt32 {
    unsafe CRC32C.checksum(unsafe batch.slice(size, batch.count - size))
  }

  /// The checksum of the whole: `records` goes on over the header without the checksum's own four bytes.
  private static func checksum(_ batch: UnsafeRawBufferPointer, records: UInt32) -> UInt32 {
    let head = unsafe CRC32C.checksum(unsafe batch.slice(0, 8), seed: records)
    return unsafe CRC32C.checksum(unsafe batch.slice(12, size - 12), seed: head)
  }

  /// What is wrong with `batch`, found in `partition` at `offset`; nil if nothing.
  /// The checksum is not computed if it `isTrusted`.
  static func fault(
    in batch: UnsafeRawBufferPointer, partition: Int, offset: Int64, isTrusted: Bool = false
  ) -> String? {
    guard batch.count >= size else { return "a batch of \(batch.count) bytes is too short" }
    guard unsafe batch.little(UInt32.self, at: 0) == magic else { return "a batch does not begin with its mark" }
    guard unsafe isTrusted || checksum(batch, records: recordsChecksum(batch)) == batch.little(UInt32.self, at: 8)
    else {
      return "the checksum of a batch does not match"
    }
    let header = unsafe BatchHeader(batch)
    guard header.partition == partition, header.firstOffset == offset, header.isCountPossible,
      header.recordBytes == batch.count - size
    else { return "a batch's header does not match its place" }
    guard unsafe batch.little(UInt16.self, at: 4) == version, header.flags.isSubset(of: .known) else {
      return "a batch is of a newer version"
    }
    return nil
  }

  /// Gives all records, framed with the time 0, the time of their commit.
  mutating func stamp(_ time: Timestamp) {
    baseTimestamp = time.microseconds
    minimumTimestamp = time.microseconds
    maximumTimestamp = time.microseconds
    appendedAt = time.microseconds
  }

  /// Whether so many records fit into the range of offsets.
  var isCountPossible: Bool {
    let (distance, overflow) = lastOffset.subtractingReportingOverflow(firstOffset)
    if overflow || distance < 0 || distance > Self.maximumSpan - 1 || count > OpenBatch.maximumCount { return false }
    return flags.contains(.compacted) ? Int64(count) <= distance + 1 : Int64(count) == distance + 1
  }

  /// The most offsets that a batch stands for: distances from the first one are 32 bits.
  static let maximumSpan: Int64 = 1 << 32
}
