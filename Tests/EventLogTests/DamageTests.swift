import Bytes
import Testing

@testable import EventLog

/// One flipped bit inside a batch: an error that names it, everything else readable, nothing cut off.
@Suite struct DamageTests {
  let directory = TemporaryDirectory()
  static let batches = 9

  /// Nine batches of two records, in two partitions, the fifth marked; two segments. Returns the marked one's file.
  func damaged(batch marked: Int, byte: (Int) -> Int = { $0 }) throws -> String {
    var path = ""
    do {
      let log = try EventLog.open(at: directory.path)
      let topic = try log.topic("t", TopicOptions(partitions: 2))
      for number in 0..<Self.batches {
        let records = (0..<2).map { record("batch \(number) record \($0) " + String(repeating: "x", count: 3000)) }
        _ = try topic.appendIdempotentBlocking(
          records, partition: 1, producer: ProducerID(id: 1, epoch: 0), sequence: Int64(number) * 2)
        _ = try topic.appendBlocking(key: nil, value: [UInt8(number)], timestamp: .min, partition: 0)
        if number == marked { path = try topic.describe().segments.last?.path ?? "" }
        if number == 5 { try topic.sealBlocking() }
      }
    }
    let place = try #require(Files.find(Array("batch \(marked) record 0".utf8), in: path))
    Files.flipBit(path, at: byte(place))
    return path
  }

  @Test(arguments: [0, 4, 5, 6, 8]) func aFlippedBitCostsItsBatchOnly(marked: Int) throws {
    let path = try damaged(batch: marked)
    let bad = Int64(marked) * 2..<Int64(marked) * 2 + 2
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t")
    #expect(try topic.endOffset(1) == 18)

    let reader = try topic.reader(partition: 1, from: 0)
    var before: [OwnedRecord] = []
    let error = failure {
      while try reader.read({ batch in
        for record in batch { before.append(OwnedRecord(copying: record, partition: 1)) }
      }) > 0 {}
    }
    #expect(error?.code == .damaged)
    #expect(error?.topic == "t" && error?.partition == 1 && error?.damagedRange == bad && error?.path == path)
    #expect(before.map(\.offset) == Array(0..<bad.lowerBound))
    // It stays an error, until the reader goes past it or is told to skip.
    #expect(failure { _ = try reader.read { _ in } }?.damagedRange == bad)
    try reader.seek(partition: 1, to: bad.upperBound)
    #expect(try reader.drain().map(\.offset) == Array(bad.upperBound..<18))
    let inside = try topic.reader(partition: 1, from: bad.lowerBound + 1)
    #expect(failure { _ = try inside.drain() }?.damagedRange == bad.lowerBound + 1..<bad.upperBound)

    let skipping = try topic.reader(from: [0: 0, 1: 0], damage: .skip)
    let rest = try skipping.drain()
    #expect(rest.filter { $0.partition == 1 }.map(\.offset) == (0..<18).filter { !bad.contains($0) })
    #expect(rest.filter { $0.partition == 0 }.count == Self.batches)
    #expect(skipping.skipped.map(\.offsets) == [bad])

    let verification = try log.verify()
    #expect(verification.damages.map(\.offsets) == [bad])
    #expect(verification.damages.map(\.partition) == [1])
    #expect(verification.records == 25)
    // The log goes on behind it.
    _ = try topic.appendBlocking(key: nil, value: [1], timestamp: .min, partition: 1)
    #expect(try topic.reader(partition: 1, from: 18).drain().count == 1)
  }

  @Test(arguments: [0, 4, 8, 12, 16, 24, 60, 76, 80, 95]) func aFlippedBitInAHeaderIsFoundAndNoOffsetUsedTwice(at: Int)
    throws
  {
    // The header lies before the first record's prefix; of the last batch of all, in the live segment.
    _ = try damaged(batch: 8) { $0 - RecordFraming.prefixBytes - BatchHeader.size + at }
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t")
    #expect(try topic.endOffset(1) >= 18)
    let skipping = try topic.reader(partition: 1, from: 0, damage: .skip)
    #expect(try skipping.drain().map(\.offset) == Array(0..<16))
    #expect(skipping.skipped.map(\.offsets.lowerBound) == [16])
    #expect(try log.verify().damages.map(\.offsets.lowerBound) == [16])
    let next = try topic.appendBlocking(key: nil, value: [7], timestamp: .min, partition: 1)
    #expect(next.offset >= 18)
    #expect(failure { _ = try topic.reader(partition: 1, from: 16).drain() }?.damagedRange == 16..<next.offset)
    #expect(try topic.reader(partition: 1, from: next.offset).drain().map(\.value) == [[7]])
    #expect(failure { _ = try topic.reader(partition: 1, from: 17).drain() }?.code == .damaged)
  }

  @Test func aDamagedCatalogueEntryRefusesToOpen() throws {
    do {
      let log = try EventLog.open(at: directory.path)
      _ = try log.topic("a-name-that-is-found", TopicOptions(retentionBytes: 0x1234_5678_9ABC))
    }
    let path = directory.path + "/catalog.mdb"
    let pattern: [UInt8] = [0xBC, 0x9A, 0x78, 0x56, 0x34, 0x12, 0, 0]
    while let place = Files.find(pattern, in: path) { Files.flipBit(path, at: place) }
    #expect(failure { _ = try EventLog.open(at: directory.path) }?.code == .damaged)
  }
}
