import Bytes
import Testing

@testable import EventLog

/// The bytes of a batch as it would lie on disk, beginning at `offset`.
func encodedBatch(_ records: [NewRecord], at offset: Int64 = 0, partition: Int = 0) -> [UInt8] {
  var batch = OpenBatch()
  batch.reset(partition: partition)
  for record in records {
    record.value.withUnsafeBytes { value in
      (record.key ?? []).withUnsafeBytes { key in
        batch.append(
          key: key, hasKey: record.key != nil, value: value, timestamp: record.timestamp.microseconds,
          headers: LogHeader.encode(record.headers))
      }
    }
  }
  batch.header(firstOffset: offset).write(to: batch.buffer.mutableBytes)
  return batch.buffer.array
}

func decodedBatch(_ bytes: [UInt8], from wanted: Int64 = 0) -> (records: [OwnedRecord], isBroken: Bool) {
  var isBroken = false
  let records = bytes.withUnsafeBytes { bytes -> [OwnedRecord] in
    withUnsafeMutablePointer(to: &isBroken) { fault in
      let header = BatchHeader(bytes)
      let rest = bytes.slice(BatchHeader.size, bytes.count - BatchHeader.size)
      guard let content = BatchContent(rest, header) else { return [] }
      let batch = LogBatch(header, content, from: wanted, fault: fault)
      return batch.map { OwnedRecord(copying: $0, partition: batch.partition) }
    }
  }
  return (records, isBroken)
}

@Suite struct FramingTests {
  static let odd: [NewRecord] = [
    NewRecord(key: nil, value: [], timestamp: Timestamp(microseconds: 0)),
    NewRecord(key: [], value: [1], timestamp: .min),
    NewRecord(key: [1, 2], value: [], timestamp: .max),
    NewRecord(key: Array(repeating: 7, count: 10_000), value: [9], timestamp: Timestamp(microseconds: -1)),
    NewRecord(key: Array(repeating: 3, count: 65_534), value: [], timestamp: Timestamp(microseconds: 4_194_303)),
    NewRecord(key: nil, value: Array(repeating: 5, count: 1 << 20), timestamp: Timestamp(microseconds: -4_194_304)),
    NewRecord(
      key: [0], value: [0], timestamp: Timestamp(microseconds: 4_194_304),
      headers: [LogHeader("", []), LogHeader("trace", [1, 2, 3]), LogHeader("trace", [4])]),
    NewRecord(key: nil, value: [1], timestamp: .max, headers: [LogHeader("é", [])]),
  ]

  @Test func everyOddRecordComesBackAsItWas() {
    for first in Self.odd.indices {
      // Each of them sets the base timestamp once.
      let records = Array(Self.odd[first...] + Self.odd[..<first])
      let (found, isBroken) = decodedBatch(encodedBatch(records, at: 40), from: 40)
      #expect(!isBroken)
      #expect(found.map(\.offset) == Array(40..<40 + Int64(records.count)))
      #expect(found.map(\.key) == records.map(\.key))
      #expect(found.map(\.value) == records.map(\.value))
      #expect(found.map(\.timestamp) == records.map(\.timestamp))
      #expect(found.map(\.headers) == records.map(\.headers))
    }
  }

  @Test func aBatchCanBeReadFromItsMiddle() {
    let bytes = encodedBatch(Self.odd, at: 100)
    for wanted in 95...Int64(100 + Self.odd.count - 1) {
      let (found, isBroken) = decodedBatch(bytes, from: wanted)
      #expect(!isBroken)
      #expect(found.map(\.offset) == Array(max(100, wanted)..<100 + Int64(Self.odd.count)))
    }
  }

  @Test func headerFieldsSurvive() {
    var header = BatchHeader()
    header.count = 3
    header.firstOffset = 7
    header.lastOffset = 9
    header.baseTimestamp = .min
    header.minimumTimestamp = -5
    header.maximumTimestamp = .max
    header.producer = .max
    header.sequence = 12
    header.epoch = 4
    header.partition = 65_535
    header.recordBytes = 0
    header.appendedAt = 99
    var bytes = [UInt8](repeating: 0, count: BatchHeader.size)
    bytes.withUnsafeMutableBytes { header.write(to: $0) }
    #expect(bytes.withUnsafeBytes { BatchHeader($0) } == header)
  }

  @Test func everyFlippedBitIsFound() {
    let bytes = encodedBatch([record("hello", key: "k"), record("world")], at: 5, partition: 2)
    #expect(bytes.withUnsafeBytes { BatchHeader.fault(in: $0, partition: 2, offset: 5) } == nil)
    for bit in 0..<bytes.count * 8 {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(damaged.withUnsafeBytes { BatchHeader.fault(in: $0, partition: 2, offset: 5) } != nil, "bit \(bit)")
    }
    for count in 0..<bytes.count {
      let cut = Array(bytes[..<count])
      #expect(cut.withUnsafeBytes { BatchHeader.fault(in: $0, partition: 2, offset: 5) } != nil)
    }
    #expect(bytes.withUnsafeBytes { BatchHeader.fault(in: $0, partition: 1, offset: 5) } != nil)
    #expect(bytes.withUnsafeBytes { BatchHeader.fault(in: $0, partition: 2, offset: 6) } != nil)
  }

  @Test func framingThatDoesNotFitIsNoticedAndNeverLeavesTheBatch() {
    let bytes = encodedBatch([record("hello", key: "k"), record("world")])
    for byte in BatchHeader.size..<bytes.count {
      for value in [UInt8(0xFF), 0x80, 0x7F] {
        var damaged = bytes
        damaged[byte] = value
        let (found, isBroken) = decodedBatch(damaged)
        #expect(found.count == 2 || isBroken)
      }
    }
  }

  @Test func droppingRepeatsKeepsTheRest() {
    for dropped in 1..<Self.odd.count {
      var batch = OpenBatch()
      batch.reset(partition: 0)
      batch.producer = ProducerID(id: 1, epoch: 0)
      batch.sequence = 10
      for record in Self.odd {
        record.value.withUnsafeBytes { value in
          (record.key ?? []).withUnsafeBytes { key in
            batch.append(
              key: key, hasKey: record.key != nil, value: value, timestamp: record.timestamp.microseconds,
              headers: LogHeader.encode(record.headers))
          }
        }
      }
      batch.dropFirst(dropped)
      batch.header(firstOffset: 0).write(to: batch.buffer.mutableBytes)
      let (found, isBroken) = decodedBatch(batch.buffer.array)
      #expect(!isBroken)
      #expect(found.map(\.value) == Self.odd[dropped...].map(\.value))
      #expect(found.map(\.timestamp) == Self.odd[dropped...].map(\.timestamp))
      #expect(batch.sequence == 10 + Int64(dropped))
    }
  }
}
