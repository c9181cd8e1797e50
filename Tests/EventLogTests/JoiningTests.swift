import Bytes
import Testing

@testable import EventLog

/// Sealed segments of small batches are written anew in large ones.
@Suite struct JoiningTests {
  let directory = TemporaryDirectory()

  @Test func batchesOfSingleRecordsAreJoinedAndNothingElseChanges() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 3))
    var random = SeededGenerator(seed: 4)
    for number in 0..<300 {
      let record = CompactionModel.randomRecord(&random, keys: 5)
      _ = try topic.appendBlocking(
        key: record.key, value: record.value, timestamp: record.timestamp, headers: record.headers)
      if number == 200 { try topic.sealBlocking() }
    }
    let before = try (0..<3).map { try topic.all($0) }
    let batches = try log.verify().batches
    #expect(batches == 300)
    let reader = try topic.reader(from: [0: 0, 1: 0, 2: 0])
    var read = try Self.records(of: reader, maxBytes: 1)
    try log.maintainBlocking()
    topic.waitForCompaction()
    let found = try log.verify()
    #expect(found.isSound)
    #expect(found.batches < 115)
    #expect(try (0..<3).map { try topic.all($0) } == before)
    #expect(try topic.describe().records == 300)
    // A reader in the middle goes on where it was.
    while true {
      let more = try Self.records(of: reader, maxBytes: 10_000)
      if more.isEmpty { break }
      read += more
    }
    #expect((0..<3).map { partition in read.filter { $0.partition == partition } } == before)
    // Once is enough.
    let segments = try topic.describe().segments.map(\.number)
    try log.maintainBlocking()
    topic.waitForCompaction()
    #expect(try topic.describe().segments.map(\.number) == segments)
    for time in stride(from: Int64(0), to: 1 << 40, by: 1 << 36) {
      let expected = before[1].first { $0.timestamp.microseconds >= time }?.offset
      #expect(try topic.offset(forTimestamp: Timestamp(microseconds: time), partition: 1) == expected)
    }
  }

  static func records(of reader: LogReader, maxBytes: Int) throws -> [OwnedRecord] {
    var records: [OwnedRecord] = []
    try reader.read(maxBytes: maxBytes) { batch in
      for record in batch { records.append(OwnedRecord(copying: record, partition: batch.partition)) }
    }
    return records
  }

  @Test func joinedBatchesAreNeitherTooLargeNorTooMany() throws {
    let log = try EventLog.open(at: directory.path, LogOptions(batchBytes: 1024))
    let topic = try log.topic("t", TopicOptions(segmentBytes: 64 << 20))
    let count = 20_000
    for number in 0..<count {
      #expect(try topic.enqueue(String(repeating: "x", count: 90) + "\(number)"))
    }
    try topic.flushBlocking()
    try topic.sealBlocking()
    let before = try topic.values()
    try log.maintainBlocking()
    topic.waitForCompaction()
    var sizes: [Int] = []
    let reader = try topic.reader(partition: 0, from: 0)
    while try reader.read({ sizes.append($0.byteCount) }) > 0 {}
    #expect(sizes.dropLast().allSatisfy { $0 >= ReplacementSegment.smallestBatch })
    #expect(sizes.allSatisfy { $0 <= ReplacementSegment.largestBatch })
    #expect(try topic.values() == before)
  }
}
