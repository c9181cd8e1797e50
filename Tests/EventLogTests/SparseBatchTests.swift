import Bytes
import Testing

@testable import EventLog

/// The bytes of a compacted batch that stands for `range` and holds `records` at `offsets`.
func compactedBatch(
  _ records: [NewRecord], at offsets: [Int64], standingFor range: ClosedRange<Int64>, compressed: Bool = false
) -> [UInt8] {
  let dense = encodedBatch(records.isEmpty ? [record("")] : records, at: range.lowerBound)
  var header = dense.withUnsafeBytes { BatchHeader($0) }
  header.flags = compressed ? [.compacted, .compressed] : [.compacted]
  header.count = records.count
  header.lastOffset = range.upperBound
  var content = ByteBuffer()
  for offset in offsets { content.append(UInt32(offset - range.lowerBound)) }
  if !records.isEmpty { content.append(Array(dense[BatchHeader.size...])) }
  var whole = ByteBuffer()
  whole.append([UInt8](repeating: 0, count: BatchHeader.size))
  if compressed {
    #expect(BatchCompressor().compress(content.bytes, level: 3, into: &whole))
  } else {
    whole.append(content.bytes)
  }
  header.recordBytes = whole.count - BatchHeader.size
  header.write(to: whole.mutableBytes)
  return whole.array
}

/// The offsets and values that a reader gets of `bytes` from `wanted` on; nil for damage.
private func opened(_ bytes: [UInt8], at offset: Int64, from wanted: Int64) -> [Int64: [UInt8]]? {
  bytes.withUnsafeBytes { bytes in
    let opener = BatchOpener()
    guard case .batch(let batch) = opener.open(bytes, partition: 0, offset: offset, from: wanted) else { return nil }
    var found: [Int64: [UInt8]] = [:]
    for record in batch { found[record.offset] = [UInt8](record.value) }
    if case .damaged = opener.takeFault() { return nil }
    #expect(found.count == batch.count)
    return found
  }
}

@Suite struct SparseBatchTests {
  static let long = String(repeating: "again and ", count: 20)

  @Test(arguments: [false, true]) func aCompactedBatchIsReadFromAnyOfItsOffsets(compressed: Bool) {
    let offsets: [Int64] = [101, 102, 107, 4_000_000_000]
    let records = offsets.map { record(Self.long + "\($0)", key: "k") }
    let bytes = compactedBatch(records, at: offsets, standingFor: 100...4_294_967_395, compressed: compressed)
    for wanted in [0, 100, 101, 102, 103, 106, 107, 108, 4_000_000_000, 4_000_000_001, 4_294_967_395] as [Int64] {
      let found = opened(bytes, at: 100, from: wanted)
      let expected = zip(offsets, records).filter { $0.0 >= wanted }
      #expect(found == Dictionary(uniqueKeysWithValues: expected.map { ($0.0, $0.1.value) }), "from \(wanted)")
    }
  }

  @Test func aBatchMayStandForOffsetsWithoutAnyRecord() {
    let bytes = compactedBatch([], at: [], standingFor: 5...9)
    #expect(opened(bytes, at: 5, from: 0) == [:])
    #expect(opened(bytes, at: 5, from: 9) == [:])
  }

  @Test func offsetsThatCannotBeAreDamage() {
    let records = [record("a"), record("b")]
    for offsets: [Int64] in [[7, 7], [8, 7], [5, 10]] {
      #expect(opened(compactedBatch(records, at: offsets, standingFor: 5...9), at: 5, from: 5) == nil, "\(offsets)")
    }
    // More records than offsets, and a range of more offsets than a distance can say.
    #expect(opened(compactedBatch(records, at: [5, 6], standingFor: 5...5), at: 5, from: 5) == nil)
    #expect(opened(compactedBatch(records, at: [5, 6], standingFor: 5...4_294_967_301), at: 5, from: 5) == nil)
  }

  @Test func compressedBytesThatLieAreDamageAndTakeNoMemory() {
    let records = (0..<50).map { record(Self.long + "\($0)") }
    let bytes = compactedBatch(records, at: Array(5..<55), standingFor: 5...60, compressed: true)
    #expect(opened(bytes, at: 5, from: 5)?.count == 50)
    func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
      var changed = bytes
      change(&changed)
      var header = changed.withUnsafeBytes { BatchHeader($0) }
      header.recordBytes = changed.count - BatchHeader.size
      changed.withUnsafeMutableBytes { header.write(to: $0) }
      return changed
    }
    // The checksum is right in all of these: what is wrong lies below it.
    #expect(opened(changed { $0[BatchHeader.size + 3] = 0xFF }, at: 5, from: 5) == nil)
    #expect(opened(changed { $0[BatchHeader.size] ^= 1 }, at: 5, from: 5) == nil)
    #expect(opened(changed { $0.removeLast() }, at: 5, from: 5) == nil)
    #expect(opened(changed { $0.append(0) }, at: 5, from: 5) == nil)
    #expect(opened(changed { $0.removeLast($0.count - BatchHeader.size) }, at: 5, from: 5) == nil)
    for at in BatchHeader.size..<bytes.count {
      // Whatever comes of it, reading stays inside and ends.
      _ = opened(changed { $0[at] ^= 0x55 }, at: 5, from: 5)
    }
  }

  @Test func whatDoesNotShrinkStaysAsItIs() {
    var output = ByteBuffer()
    output.append([1, 2, 3])
    var random = SeededGenerator(seed: 1)
    let noise = (0..<1000).map { _ in UInt8.random(in: 0...255, using: &random) }
    #expect(!noise.withUnsafeBytes { BatchCompressor().compress($0, level: 19, into: &output) })
    #expect(output.array == [1, 2, 3])
  }
}
