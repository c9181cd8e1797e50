import Bytes
import Testing

@testable import EventLog

@Suite struct CatalogTests {
  @Test func topicEntriesComeBackAndDamageIsRefused() throws {
    let options = TopicOptions(
      partitions: 12, segmentBytes: 1 << 30, segmentAge: .seconds(60), retentionBytes: nil, retentionAge: .seconds(7),
      maximumRecordBytes: 4096, compression: .zstd(level: 7),
      compaction: Compaction(tombstoneDelay: .seconds(9), minimumAge: .seconds(1), dirtyRatio: 0.25))
    let entry = TopicRecord(id: 7, createdAt: Timestamp(microseconds: -4), options: options)
    let bytes = entry.encoded()
    #expect(try bytes.withUnsafeBytes { try TopicRecord($0, path: "x") } == entry)
    for bit in 0..<bytes.count * 8 {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      let error = failure { _ = try damaged.withUnsafeBytes { try TopicRecord($0, path: "x") } }
      #expect(error?.code == (bit < 32 ? .unsupportedFormat : .damaged))
    }
  }

  @Test func segmentEntriesComeBack() throws {
    var entry = SegmentRecord(
      topic: 3, number: 9, createdAt: Timestamp(microseconds: 5), firstSequence: 77, starts: [1, 2, 3])
    func roundTrip() throws -> SegmentRecord {
      try entry.key.withUnsafeBytes { key in
        try entry.encoded().withUnsafeBytes { try SegmentRecord(key: key, value: $0, path: "x") }
      }
    }
    #expect(try roundTrip() == entry)
    entry.isSealed = true
    entry.ends = [4, 5, 6]
    entry.maximumTimestamps = [.min, 0, .max]
    entry.nextSequence = 80
    entry.bytes = 4096
    entry.records = 7
    entry.batches = 3
    entry.isCompacted = true
    entry.oldestTombstones = 11
    #expect(try roundTrip() == entry)
    entry.isCompacted = false
    entry.isJoined = true
    #expect(try roundTrip() == entry)
  }

  @Test(arguments: ["", ".", "..", ".hidden", "a/b", "é", "a b", String(repeating: "x", count: 201)])
  func badNamesAreRefused(name: String) throws {
    let directory = TemporaryDirectory()
    let log = try EventLog.open(at: directory.path)
    #expect(failure { _ = try log.topic(name, TopicOptions()) }?.code == .invalidTopic)
  }

  @Test func badOptionsAreRefused() throws {
    let directory = TemporaryDirectory()
    let log = try EventLog.open(at: directory.path)
    for options in [
      TopicOptions(partitions: 0), TopicOptions(partitions: 65_537), TopicOptions(segmentBytes: 1),
      TopicOptions(maximumRecordBytes: 1 << 24), TopicOptions(segmentAge: .zero), TopicOptions(retentionBytes: -1),
      TopicOptions(compression: .zstd(level: 0)), TopicOptions(compression: .zstd(level: 20)),
      TopicOptions(compaction: Compaction(tombstoneDelay: .seconds(-1))),
      TopicOptions(compaction: Compaction(minimumAge: .seconds(-1))),
      TopicOptions(compaction: Compaction(dirtyRatio: 1.5)), TopicOptions(compaction: Compaction(dirtyRatio: .nan)),
    ] {
      #expect(failure { _ = try log.topic("t", options) }?.code == .invalidTopic)
    }
    #expect(try log.topicNames() == [])
    #expect(failure { _ = try EventLog.open(at: directory.path, LogOptions(batchBytes: 0)) }?.code == .invalidOptions)
  }

  @Test func optionsAreKeptAndCanBeChanged() throws {
    let directory = TemporaryDirectory()
    let options = TopicOptions(partitions: 3, retentionAge: .seconds(9))
    do {
      let log = try EventLog.open(at: directory.path)
      #expect(try log.topic("t", options).options == options)
      try log.setOptions(of: "t") {
        $0.maximumRecordBytes = 5
        $0.partitions = 99
      }
      #expect(failure { try log.topic("t").put("123456") }?.limit == 5)
    }
    let log = try EventLog.open(at: directory.path)
    #expect(try log.topic("t").options.maximumRecordBytes == 5)
    #expect(try log.topic("t").partitions == 3)
    #expect(failure { _ = try log.topic("t", TopicOptions(partitions: 4)) }?.code == .topicExists)
    #expect(failure { _ = try log.topic("u") }?.code == .unknownTopic)
  }
}
