import Bytes

/// What one commit of the journal holds: batches as they will lie in a segment, behind 56 bytes, little-endian.
///
/// | at | bytes | meaning |
/// |---|---|---|
/// | 0 | 4 | magic `MLJ1` |
/// | 4 | 4 | CRC-32C of bytes 8–55 |
/// | 8 | 8 | topic id |
/// | 16 | 8 | generation: a random number, another one each time the file is begun anew |
/// | 24 | 8 | sequence of the first batch; the others follow |
/// | 32 | 4 | number of batches |
/// | 36 | 4 | number of records |
/// | 40 | 8 | bytes of batches |
/// | 48 | 4 | CRC-32C of the batches' checksums, in order |
/// | 52 | 4 | version, 1 |
///
/// A batch tells its own length and carries its own checksum.
struct JournalFrame: Equatable {
  static let size = 56
  static let magic: UInt32 = 0x314A_4C4D
  static let version: UInt32 = 1

  var topic: UInt64
  var generation: UInt64
  var firstSequence: UInt64
  var batches = 0
  var records = 0
  var bytes = 0
  var contents: UInt32 = 0

  var nextSequence: UInt64 { firstSequence + UInt64(batches) }

  init(topic: UInt64, generation: UInt64, firstSequence: UInt64) {
    self.topic = topic
    self.generation = generation
    self.firstSequence = firstSequence
  }

  /// The frame that begins at `position` of `bytes`; nil if none does.
  init?(_ bytes: UnsafeRawBufferPointer, at position: Int) {
    guard bytes.count - position >= Self.size else { return nil }
    let header = unsafe bytes.slice(position, Self.size)
    guard unsafe header.little(UInt32.self, at: 0) == Self.magic,
      unsafe header.little(UInt32.self, at: 4) == CRC32C.checksum(header.slice(8, Self.size - 8)),
      unsafe header.little(UInt32.self, at: 52) == Self.version
    else { return nil }
    unsafe topic = header.little(UInt64.self, at: 8)
    unsafe generation = header.little(UInt64.self, at: 16)
    unsafe firstSequence = header.little(UInt64.self, at: 24)
    unsafe batches = Int(header.little(UInt32.self, at: 32))
    unsafe records = Int(header.little(UInt32.self, at: 36))
    unsafe self.bytes = Int(truncatingIfNeeded: header.little(Int64.self, at: 40))
    unsafe contents = header.little(UInt32.self, at: 48)
    if self.bytes < 0 { return nil }
  }

  /// Writes the header over the first `size` bytes of `frame`.
  func write(to frame: UnsafeMutableRawBufferPointer) {
    func put<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, _ offset: Int) {
      unsafe frame.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }
    put(Self.magic, 0)
    put(topic, 8)
    put(generation, 16)
    put(firstSequence, 24)
    put(UInt32(truncatingIfNeeded: batches), 32)
    put(UInt32(truncatingIfNeeded: records), 36)
    put(Int64(bytes), 40)
    put(contents, 48)
    put(Self.version, 52)
    unsafe put(CRC32C.checksum(UnsafeRawBufferPointer(frame).slice(8, Self.size - 8)), 4)
  }

  /// Takes a finished batch into account.
  mutating func add(_ batch: UnsafeRawBufferPointer, records count: Int) {
    batches += 1
    records += count
    bytes += batch.count
    unsafe contents = CRC32C.checksum(batch.slice(8, 4), seed: contents)
  }

  /// Whether the frame at `position` of `bytes` is there as it was written, every batch of it.
  func isWhole(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Bool {
    var found = JournalFrame(topic: topic, generation: generation, firstSequence: firstSequence)
    var isSound = true
    unsafe forEachBatch(bytes, at: position) { header, batch in
      isSound = unsafe BatchHeader.fault(in: batch, partition: header.partition, offset: header.firstOffset) == nil
      unsafe found.add(batch, records: header.count)
      return isSound
    }
    return isSound && found == self
  }

  /// Gives every batch of the frame at `position` of `bytes` to `body` until that returns false; ends early where a
  /// length does not fit.
  func forEachBatch(
    _ bytes: UnsafeRawBufferPointer, at position: Int,
    _ body: (BatchHeader, UnsafeRawBufferPointer) throws -> Bool
  ) rethrows {
    var start = position + Self.size
    guard self.bytes <= bytes.count - start else { return }
    let end = start + self.bytes
    for _ in 0..<batches {
      guard end - start >= BatchHeader.size else { return }
      let header = unsafe BatchHeader(bytes.slice(start, BatchHeader.size))
      guard header.recordBytes >= 0, header.recordBytes <= end - start - BatchHeader.size else { return }
      let size = BatchHeader.size + header.recordBytes
      guard unsafe try body(header, bytes.slice(start, size)) else { return }
      start += size
    }
  }
}
