import Bytes
import Testing

@testable import EventLog

@Suite struct ReadingTests {
  let directory = TemporaryDirectory()

  @Test func everyOffsetCanBeSoughtAcrossSegments() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    var expected: [String] = []
    for number in 0..<120 {
      let text = "\(number)-" + String(repeating: "x", count: number % 7 == 0 ? 70_000 : 10)
      _ = try topic.appendBlocking(key: nil, value: Array(text.utf8), timestamp: .min, partition: 0)
      _ = try topic.appendBlocking(key: nil, value: [1], timestamp: .min, partition: 1)
      expected.append(text)
      if number % 40 == 39 { try topic.sealBlocking() }
    }
    for offset in 0...expected.count {
      let found = try topic.reader(partition: 0, from: Int64(offset)).drain().map(\.text)
      #expect(found == Array(expected[offset...]))
    }
    let reader = try topic.reader(partition: 0, from: 0)
    for offset in [119, 3, 80, 40, 39, 0] {
      try reader.seek(partition: 0, to: Int64(offset))
      #expect(try reader.drain(maxBytes: 1).map(\.text) == Array(expected[offset...]))
    }
  }

  @Test func severalPartitionsComeInOrderOfArrival() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 3))
    for number in 0..<30 {
      _ = try topic.appendBlocking(
        key: nil, value: [UInt8(number)], timestamp: .min, partition: number % 3)
      if number == 14 { try topic.sealBlocking() }
    }
    let all = try topic.reader(from: [0: 0, 1: 0, 2: 0]).drain()
    #expect(all.map(\.value) == (0..<30).map { [UInt8($0)] })
    let some = try topic.reader(from: [2: 8, 0: 2]).drain()
    let expected = [6, 9, 12, 15, 18, 21, 24, 26, 27, 29].map { [UInt8($0)] }
    #expect(some.map(\.value) == expected)
    let reader = try topic.reader(from: [1: 0])
    #expect(reader.position(0) == nil && reader.position(1) == 0 && reader.position(7) == nil)
    _ = try reader.drain()
    #expect(reader.position(1) == 10)
  }

  @Test func aReaderThatThrowsStaysBeforeTheBatch() throws {
    struct Refused: Error {}
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    for value in ["a", "b", "c"] { try topic.put(value) }
    let reader = try topic.reader(partition: 0, from: 0)
    var seen: [Int64] = []
    #expect(throws: Refused.self) {
      try reader.read { batch in
        if batch.firstOffset == 1 { throw Refused() }
        seen.append(batch.firstOffset)
      }
    }
    #expect(reader.position(0) == 1)
    try reader.read { seen.append($0.firstOffset) }
    #expect(seen == [0, 1, 2])
    #expect(try reader.read { _ in } == 0)
  }

  @Test func anOffsetOutsideIsATypedErrorWithTheValidRange() throws {
    let clock = TestClock()
    let log = try EventLog.open(at: directory.path, LogOptions(clock: clock.read))
    let topic = try log.topic("t", TopicOptions(retentionAge: .seconds(1)))
    for value in 0..<7 { try topic.put("\(value)") }
    try topic.sealBlocking()
    clock.advance(seconds: 10)
    try log.maintainBlocking()
    for value in 7..<9 { try topic.put("\(value)") }
    for offset in [0, 5, 6, 10, -1, .max] as [Int64] {
      let error = failure { _ = try topic.reader(partition: 0, from: offset) }
      #expect(error?.code == .offsetOutOfRange)
      #expect(error?.validRange == 7..<9)
    }
    #expect(try topic.reader(partition: 0, from: 7).drain().map(\.text) == ["7", "8"])
    #expect(try topic.reader(partition: 0, from: 9).drain().isEmpty)
  }

  @Test func aWaitingReaderIsWokenByAnAppend() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    let started = BlockingResult<Void>()
    let waiting = Task.detached { () throws -> [String] in
      let reader = try topic.reader(partition: 0, from: 0)
      _ = try reader.read { _ in }
      started.finish(.success(()))
      while try !reader.wait(timeout: .seconds(60)) {}
      return try reader.drain().map(\.text)
    }
    try started.wait()
    try topic.put("news")
    #expect(try await waiting.value == ["news"])
    let idle = try topic.reader(partition: 0, from: 1)
    _ = try idle.read { _ in }
    #expect(try !idle.wait(timeout: .milliseconds(1)))
  }

  @Test func listenersHearOfCommitsUntilTheyAreCancelled() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    let heard = BlockingResult<Void>()
    let listener = topic.onAppend { heard.finish(.success(())) }
    try topic.put("a")
    try heard.wait()
    listener.cancel()
    try topic.put("b")
    #expect(!heard.wait(milliseconds: 0))
  }

  @Test func aSequenceEndsAtTheEndAsItWas() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    for number in 0..<100 { try topic.put("\(number)") }
    var found: [String] = []
    for try await record in topic.records(partition: 0, from: 10) {
      found.append(record.text)
      if found.count == 1 { try topic.put("later") }
    }
    #expect(found == (10..<100).map(String.init))
    await #expect(throws: EventLogError.self) {
      for try await _ in topic.records(partition: 0, from: 1000) {}
    }
  }

  @Test func aTailingSequenceFollowsAndEndsWithItsTask() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    try topic.put("0")
    let (progress, continuation) = AsyncStream.makeStream(of: String.self)
    let tail = Task {
      for try await record in topic.records(partition: 0, from: 0, tailing: true) { continuation.yield(record.text) }
      continuation.finish()
    }
    var next = 1
    for await text in progress {
      #expect(text == "\(next - 1)")
      if next == 30 {
        tail.cancel()
      } else {
        if next % 10 == 0 { try await topic.seal() }
        _ = try await topic.append(key: nil, value: Array("\(next)".utf8), timestamp: .min)
      }
      next += 1
    }
    try await tail.value
    #expect(next == 31)
  }

  @Test func aTailEndsWithAnErrorWhenTheLogCloses() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    try topic.put("0")
    let tail = Task { () -> EventLogError.Code? in
      do {
        for try await _ in topic.records(partition: 0, from: 0, tailing: true) { log.close() }
        return nil
      } catch {
        return (error as? EventLogError)?.code
      }
    }
    #expect(await tail.value == .closed)
  }

  @Test func aReadOnlyHandleFollowsTheWriter() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    try topic.put("0")
    let readers = try EventLog.open(at: directory.path, LogOptions(access: .readOnly))
    let other = try readers.topic("t")
    #expect(try other.offsets() == topic.offsets())
    let reader = try other.reader(from: [0: 0, 1: 0])
    #expect(try reader.drain().map(\.text) == ["0"])
    for number in 1..<20 {
      try topic.put("\(number)", key: "\(number)")
      if number % 5 == 0 { try topic.sealBlocking() }
      #expect(try reader.wait(timeout: .seconds(60)))
      #expect(try reader.drain().map(\.text) == ["\(number)"])
      #expect(try other.offsets() == topic.offsets())
    }
    #expect(failure { _ = try other.put("no") }?.code == .readOnly)
    #expect(failure { try readers.deleteTopic("t") }?.code == .readOnly)
    #expect(try readers.verify().records == 20)
    try log.deleteTopic("t")
    #expect(failure { _ = try other.offsets() }?.code == .topicDeleted)
  }

  @Test func aSeekPassesOverABoundedNumberOfBatches() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    var appender = try topic.makeAppender(recordsPerBatch: 1)
    let keys = (0..<64).map { [UInt8($0)] }
    let rare = try #require(keys.first { $0.withUnsafeBytes { topic.partition(forKey: $0) } == 0 })
    let common = try #require(keys.first { $0.withUnsafeBytes { topic.partition(forKey: $0) } == 1 })
    for number in 0..<10_000 {
      try (number % 500 == 0 ? rare : common).withUnsafeBytes { key in
        try appender.append(key: key, value: key, timestamp: Timestamp(microseconds: Int64(number)))
      }
    }
    try appender.flushBlocking()
    let snapshot = try topic.state.snapshot()
    let file = try topic.state.file(of: snapshot.segments[0])
    for offset in 0..<20 as Range<Int64> {
      let entry = try #require(try file.indexEntry(partition: 0, atOrBefore: offset))
      #expect(UInt64(offset) * 500 - entry.sequence <= SegmentTail.indexSequences)
      #expect(try topic.reader(partition: 0, from: offset).drain().count == 20 - Int(offset))
      #expect(
        try topic.offset(forTimestamp: Timestamp(microseconds: offset * 500 - 1), partition: 0) == offset)
    }
  }

  @Test func openSegmentsStayBounded() throws {
    let log = try EventLog.open(at: directory.path, LogOptions(maximumOpenSegments: 3))
    let topic = try log.topic("t", TopicOptions())
    for number in 0..<12 {
      try topic.put("\(number)")
      try topic.sealBlocking()
    }
    #expect(try topic.values() == (0..<12).map(String.init))
    #expect(log.core.pool.count <= 3)
  }
}
