import Bytes
import Testing

@testable import EventLog

/// Topics whose records get the time of their commit.
@Suite struct AppendTimeTests {
  let directory = TemporaryDirectory()
  let clock = TestClock()

  func open(_ options: TopicOptions = TopicOptions(partitions: 2, timestamps: .append)) throws -> (EventLog, LogTopic) {
    let log = try EventLog.open(at: directory.path, LogOptions(flushDelay: .seconds(3600), clock: clock.read))
    return (log, try log.topic("t", options))
  }

  func time(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }

  @Test func everyWayInGetsTheTimeOfTheCommit() async throws {
    let (log, topic) = try open()
    // A test clock stands at one second.
    _ = try await topic.append(
      key: [1], value: [1], timestamp: .max, headers: [LogHeader("h", [1])], partition: 0)
    clock.advance(seconds: 1)
    #expect(try topic.enqueue("enqueued", key: "k", at: 77))
    try await topic.send(key: nil, value: [2], timestamp: .min, headers: [LogHeader("h", [2])], partition: 0)
    clock.advance(seconds: 1)
    try await topic.flush()
    clock.advance(seconds: 1)
    var appender = try topic.makeAppender()
    try [UInt8(3)].withUnsafeBytes { bytes in
      try appender.append(key: bytes, value: bytes, timestamp: .max)
      try appender.append(key: bytes, timestamp: .min) { $0.append(UInt8(4)) }
      try appender.append(value: bytes, timestamp: Timestamp(microseconds: 5))
    }
    try await appender.flush()
    clock.advance(seconds: 1)
    _ = try await topic.append(contentsOf: (0..<10).map { record("\($0)", key: "\($0)", at: Int64.random(in: 0..<99)) })
    clock.advance(seconds: 1)
    let producer = ProducerID(id: 1, epoch: 0)
    _ = try await topic.appendIdempotent([record("a", at: 9)], partition: 0, producer: producer, sequence: 0)
    clock.advance(seconds: 1)
    _ = try await topic.appendIdempotent(
      [record("a", at: 9), record("b", at: 10)], partition: 0, producer: producer, sequence: 0)

    let all = try (0..<2).flatMap { try topic.all($0) }
    let times = Dictionary(grouping: all, by: \.timestamp).mapValues(\.count)
    #expect(times == [time(1): 1, time(3): 2, time(4): 3, time(5): 10, time(6): 1, time(7): 1])
    #expect(all.filter { !$0.headers.isEmpty }.map(\.headers) == [[LogHeader("h", [1])], [LogHeader("h", [2])]])
    #expect(try topic.offset(forTimestamp: time(7), partition: 0) == Int64(topic.counts()[0]) - 1)
    #expect(try log.verify().isSound)
  }

  @Test func timesNeverFallAcrossRollsRestartsAndRetention() throws {
    var (log, topic) = try open()
    var last = Timestamp.min
    var written = 0
    for step in 0..<40 {
      clock.advance(seconds: step % 5 == 3 ? -30 : 7)
      if step % 7 == 4 { try topic.sealBlocking() }
      if step % 11 == 6 {
        log.close()
        (log, topic) = try open()
      }
      if step == 25 {
        try topic.sealBlocking()
        try log.setOptions(of: "t") { $0.retentionBytes = 0 }
        try log.maintainBlocking()
        try log.setOptions(of: "t") { $0.retentionBytes = nil }
      }
      let position = try topic.put("\(step)", key: "\(step)")
      written += 1
      let found = try #require(try topic.all(position.partition).last)
      #expect(found.timestamp >= max(last, clock.now))
      last = found.timestamp
    }
    #expect(try topic.offsets().map { Int($0.upperBound) }.reduce(0, +) == written)
  }

  @Test func theChoiceSurvivesARestartAndMayBeChanged() throws {
    var (log, topic) = try open()
    try topic.put("a", at: 5)
    log.close()
    (log, topic) = try open()
    #expect(topic.options.timestamps == .append)
    try topic.put("b", key: "k", at: 5)
    try log.setOptions(of: "t") { $0.timestamps = .event }
    try topic.put("c", key: "k", at: 5)
    try log.setOptions(of: "t") { $0.timestamps = .append }
    try topic.put("d", key: "k", at: 5)
    let partition = try topic.put("e", key: "k").partition
    let found = try topic.all(partition).suffix(4)
    #expect(found.map(\.timestamp) == [time(1), Timestamp(microseconds: 5), time(1), time(1)])
  }

  @Test func aBatchBegunBeforeTheChangeKeepsItsTimes() throws {
    let (log, topic) = try open(TopicOptions())
    #expect(try topic.enqueue("event", at: 5))
    try log.setOptions(of: "t") { $0.timestamps = .append }
    #expect(try topic.enqueue("event", at: 6))
    try topic.flushBlocking()
    #expect(try topic.enqueue("append", at: 7))
    try topic.flushBlocking()
    #expect(try topic.all().map(\.timestamp.microseconds) == [5, 6, 1_000_000])
  }
}
