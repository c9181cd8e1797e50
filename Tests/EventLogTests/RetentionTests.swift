import Bytes
import Testing

@testable import EventLog

@Suite struct RetentionTests {
  let directory = TemporaryDirectory()
  let clock = TestClock()

  func open(_ options: TopicOptions) throws -> (EventLog, LogTopic) {
    let log = try EventLog.open(at: directory.path, LogOptions(clock: clock.read))
    return (log, try log.topic("t", options))
  }

  func files() -> [String] { LogFiles.names(in: directory.path + "/t").filter { $0.hasSuffix(".mdb") } }

  @Test func segmentsRollBySizeAndOldOnesGoBySize() throws {
    let (log, topic) = try open(TopicOptions(segmentBytes: 1 << 20, retentionBytes: 4 << 20))
    for _ in 0..<120 {
      _ = try topic.appendBlocking(key: nil, value: Array(repeating: 1, count: 100_000), timestamp: .min)
    }
    let found = try topic.describe()
    #expect(found.bytes <= 6 << 20)
    #expect(found.segments.count >= 3 && found.segments.count < 8)
    #expect(found.partitions[0].startOffset > 60)
    #expect(found.partitions[0].endOffset == 120)
    #expect(files().count == found.segments.count)
    #expect(try topic.all().first?.offset == found.partitions[0].startOffset)
    #expect(try log.verify().isSound)
    let missing = failure { _ = try topic.reader(partition: 0, from: 0) }
    #expect(missing?.validRange == found.partitions[0].startOffset..<120)
  }

  @Test func segmentsRollByAge() throws {
    let (log, topic) = try open(TopicOptions(segmentAge: .seconds(10)))
    try topic.put("a")
    clock.advance(seconds: 9)
    try topic.put("b")
    #expect(try topic.describe().segments.count == 1)
    clock.advance(seconds: 1)
    try topic.put("c")
    #expect(try topic.describe().segments.count == 2)
    clock.advance(seconds: 10)
    #expect(try log.maintainBlocking() == 0)
    #expect(try topic.describe().segments.count == 3)
    // An empty live segment is never sealed.
    clock.advance(seconds: 100)
    try log.maintainBlocking()
    #expect(try topic.describe().segments.count == 3)
    #expect(try topic.values() == ["a", "b", "c"])
  }

  @Test func aQuietTopicLosesItsOldRecordsToo() async throws {
    let (log, topic) = try open(TopicOptions(partitions: 2, retentionAge: .seconds(60)))
    try topic.put("a", key: "k")
    clock.advance(seconds: 60)
    #expect(try await log.maintain() == 0)
    clock.advance(seconds: 1)
    #expect(try await log.maintain() == 1)
    #expect(try topic.offsets().allSatisfy { $0.isEmpty })
    #expect(try topic.offsets().map(\.upperBound).reduce(0, +) == 1)
    #expect(files().count == 1)
    // Offsets go on, also after opening again.
    log.close()
    let (again, reopened) = try open(TopicOptions(partitions: 2, retentionAge: .seconds(60)))
    #expect(try reopened.put("b", key: "k").offset == 1)
    again.close()
  }

  @Test func appendTimesSurviveARestart() throws {
    var (log, topic) = try open(TopicOptions(retentionAge: .seconds(60)))
    try topic.put("a")
    log.close()
    clock.advance(seconds: 50)
    (log, topic) = try open(TopicOptions(retentionAge: .seconds(60)))
    #expect(try log.maintainBlocking() == 0)
    clock.advance(seconds: 11)
    #expect(try log.maintainBlocking() == 1)
  }

  @Test func aReaderInTheMiddleFinishesItsBatchAndThenGetsTheTypedError() throws {
    let (log, topic) = try open(TopicOptions(retentionAge: .seconds(1)))
    for number in 0..<5 { try topic.put("\(number)") }
    try topic.sealBlocking()
    try topic.put("5")
    let reader = try topic.reader(partition: 0, from: 0)
    var seen: [String] = []
    _ = try reader.scan(maxBytes: 1) { batch in
      clock.advance(seconds: 10)
      try topic.put("6")
      #expect(try log.maintainBlocking() >= 1)
      // Its file is gone from the directory; the bytes are still ours.
      for record in batch { seen.append(OwnedRecord(copying: record, partition: 0).text) }
      return true
    }
    #expect(seen == ["0"])
    let error = failure { _ = try reader.read { _ in } }
    #expect(error?.code == .offsetOutOfRange)
    #expect(try error?.validRange == topic.offsets()[0])
  }

  @Test func retentionThatIsHeldRemovesNothing() throws {
    let (log, topic) = try open(TopicOptions(retentionAge: .seconds(1)))
    try topic.put("a")
    clock.advance(seconds: 10)
    try log.holdingRetention { _ = try log.maintainBlocking() }
    #expect(try topic.values() == ["a"])
    #expect(try log.maintainBlocking() == 1)
  }
}
