import Bytes
import LMDB
import Testing

@testable import EventLog

/// What `verify` names, and what it may leave out.
@Suite struct VerifyTests {
  let directory = TemporaryDirectory()

  /// Three segments of two partitions, six records each.
  private func filled() throws -> (EventLog, LogTopic) {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    for segment in 0..<3 {
      for number in 0..<6 {
        _ = try topic.appendBlocking(
          key: nil, value: Array("segment \(segment) record \(number) ".utf8) + Array(repeating: 120, count: 3000),
          timestamp: .min, partition: number % 2)
      }
      if segment < 2 { try topic.sealBlocking() }
    }
    return (log, topic)
  }

  @Test func soundSegmentsMayBeLeftOutNextTime() throws {
    let (log, topic) = try filled()
    let first = try log.verify()
    #expect(first.isSound && first.records == 18 && first.segments == 3)
    let sealed = try topic.describe().segments.filter(\.isSealed).map(\.path)
    #expect(first.sound == Set(sealed))
    let second = try log.verify(excluding: first.sound)
    #expect(second.isSound && second.segments == 1 && second.records == 6)
    // What changed in one that is read is found, in one that is left out it is not.
    log.close()
    let place = try #require(Files.find(Array("segment 1 record 3".utf8), in: sealed[1]))
    Files.flipBit(sealed[1], at: place)
    let again = try EventLog.open(at: directory.path)
    #expect(try again.verify(excluding: [sealed[0]]).damages.map(\.offsets) == [4..<5])
    #expect(try again.verify(excluding: [sealed[0]]).sound.isEmpty)
    #expect(try again.verify(excluding: first.sound).isSound)
  }

  @Test func aSegmentThatTheCatalogueForgotIsMissed() throws {
    let (log, topic) = try filled()
    let segments = try #require(try log.core.catalog.find("t")?.segments)
    try log.core.catalog.write("test") { try log.core.catalog.remove(segments[1], in: $0) }
    let damages = try log.verify().damages
    #expect(damages.map(\.offsets) == [3..<6, 3..<6])
    #expect(damages.map(\.partition) == [0, 1])
    _ = topic
  }

  @Test func aBatchThatIsThereTwiceIsNamed() throws {
    let (log, topic) = try filled()
    let live = try #require(try log.core.catalog.find("t")?.segments.last)
    let file = try topic.state.file(of: live)
    try file.environment.write { transaction in
      let key = BatchKey(sequence: 17, partition: 1, offset: 8)
      let copy = try key.withBytes { key in try transaction.get(file.batches, key).map { Array($0) } }
      let bytes = try #require(copy)
      try BatchKey(sequence: 18, partition: 1, offset: 8).withBytes { key in
        try bytes.withUnsafeBytes { try transaction.put(file.batches, key: key, value: $0) }
      }
    }
    let damages = try log.verify().damages
    #expect(damages.map(\.offsets) == [8..<9])
    #expect(damages.map(\.reason) == ["two batches hold them"])
  }

  @Test func anIndexEntryThatIsNoneIsNamed() throws {
    let (log, topic) = try filled()
    let live = try #require(try log.core.catalog.find("t")?.segments.last)
    let file = try topic.state.file(of: live)
    try file.environment.write { transaction in
      try [UInt8(9)].withUnsafeBytes { try transaction.put(file.index, key: $0, value: $0) }
      // One that leads nowhere.
      let entry = IndexEntry(partition: 1, offset: 7, sequence: 99)
      try entry.key.withUnsafeBytes { key in
        try entry.value.withUnsafeBytes { try transaction.put(file.index, key: key, value: $0) }
      }
    }
    let reasons = try log.verify().damages.map(\.reason)
    #expect(reasons.sorted() == ["an entry of the index is damaged", "the index names a batch that is not there"])
  }

  @Test func trustedReadingGivesTheSameAndChecksFramingNevertheless() throws {
    let (log, topic) = try filled()
    let trusting = LogReader.Checksums.trustBecauseVerifiedByThisProcess
    let verified = try topic.reader(from: [0: 0, 1: 0]).drain()
    #expect(try topic.reader(from: [0: 0, 1: 0], checksums: trusting).drain() == verified)
    let path = try topic.describe().segments[0].path
    log.close()
    let place = try #require(Files.find(Array("segment 0 record 3".utf8), in: path))
    Files.flipBit(path, at: place)
    do {
      let again = try EventLog.open(at: directory.path).topic("t")
      #expect(failure { _ = try again.reader(partition: 1, from: 0).drain() }?.damagedRange == 1..<2)
      #expect(try again.reader(partition: 1, from: 0, checksums: trusting).drain().count == 9)
    }
    // The length of the value.
    Files.flipBit(path, at: place - RecordFraming.prefixBytes + 1)
    let again = try EventLog.open(at: directory.path).topic("t")
    #expect(failure { _ = try again.reader(partition: 1, from: 0, checksums: trusting).drain() }?.damagedRange == 1..<2)
  }
}
