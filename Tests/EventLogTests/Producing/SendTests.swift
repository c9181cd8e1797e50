import Bytes
import LMDB
import Testing

@testable import EventLog

/// Fire and forget: bounded, in order, written without a flush, and a flush tells what became of it.
@Suite struct SendTests {
  let directory = TemporaryDirectory()
  let timer = ManualTimer()
  let faults = Faults()

  func open(_ change: (inout LogOptions) -> Void = { _ in }) throws -> (EventLog, LogTopic) {
    var options = LogOptions()
    options.timer = timer
    options.fault = faults.hook
    change(&options)
    let log = try EventLog.open(at: directory.path, options)
    return (log, try log.topic("t", TopicOptions(partitions: 2)))
  }

  func send(_ value: String, to topic: LogTopic) async throws {
    try await topic.send(
      key: [1], value: Array(value.utf8), timestamp: Timestamp(microseconds: 3), headers: [LogHeader("h", [9])],
      partition: 1)
  }

  @Test func whatIsSentIsDurableAfterAFlush() async throws {
    let (log, topic) = try open()
    for number in 0..<100 { try await send("\(number)", to: topic) }
    #expect(try topic.counts() == [0, 0])
    try await topic.flush()
    let found = try topic.all(1)
    #expect(found.map(\.text) == (0..<100).map(String.init))
    #expect(found.allSatisfy { $0.headers == [LogHeader("h", [9])] && $0.key == [1] && $0.timestamp.microseconds == 3 })
    #expect(faults.tried == 1)
    log.close()
  }

  @Test func itIsWrittenByItselfAfterTheDelay() async throws {
    let (_, topic) = try open { $0.flushDelay = .milliseconds(10) }
    try await send("a", to: topic)
    try await send("b", to: topic)
    #expect(timer.waiting == 1)
    timer.advance(.milliseconds(9))
    #expect(try topic.counts() == [0, 0])
    let news = topic.state
    try await withCheckedThrowingContinuation { continuation in
      _ = news.wait(after: 0, .task(continuation))
      timer.advance(.milliseconds(1))
    }
    #expect(try topic.values(1) == ["a", "b"])
    // The next one, to an idle writer again, waits for itself.
    try topic.flushBlocking()
    try await send("c", to: topic)
    #expect(timer.waiting == 1)
  }

  @Test func aDelayOfAnEarlierTurnStartsNothing() async throws {
    let (_, topic) = try open { $0.flushDelay = .milliseconds(10) }
    try await send("a", to: topic)
    timer.advance(.milliseconds(6))
    try topic.flushBlocking()
    try topic.sealBlocking()
    try await send("b", to: topic)
    timer.advance(.milliseconds(6))
    // Whatever the writer had been told is done when it has done this.
    try topic.sealBlocking()
    #expect(try topic.values(1) == ["a"])
    timer.advance(.milliseconds(4))
    try topic.sealBlocking()
    #expect(try topic.values(1) == ["a", "b"])
  }

  @Test func withoutDelayItStartsAtOnce() async throws {
    let (_, topic) = try open { $0.flushDelay = .zero }
    try await send("a", to: topic)
    #expect(timer.waiting == 0)
    try topic.sealBlocking()
    #expect(try topic.values(1) == ["a"])
  }

  @Test func whatAnAppenderHandedOverIsWrittenByItself() throws {
    let (_, topic) = try open { $0.flushDelay = .milliseconds(10) }
    var appender = try topic.makeAppender(recordsPerBatch: 2)
    for number in 0..<3 as Range<UInt8> {
      try [number].withUnsafeBytes { value in
        try [7].withUnsafeBytes { try appender.append(key: $0, value: value, timestamp: .min) }
      }
    }
    timer.advance(.milliseconds(10))
    try topic.sealBlocking()
    #expect(try topic.counts().reduce(0, +) == 2)
    try appender.flushBlocking()
    #expect(try topic.counts().reduce(0, +) == 3)
  }

  @Test func senderSuspendsWhileTheBoundIsReachedAndGoesOnInOrder() async throws {
    let (_, topic) = try open { $0.maximumPendingBytes = 2048 }
    let busy = try BusyWriter(topic)
    let sent = Task {
      for number in 0..<200 { try await send("\(number) " + String(repeating: "x", count: 100), to: topic) }
    }
    while topic.writer?.queue.waitingForRoom == 0 { await Task.yield() }
    #expect(topic.writer?.queue.waitingBytes ?? 0 < 2048 + 256)
    busy.release()
    try await sent.value
    try await topic.flush()
    #expect(try topic.values(1).map { $0.split(separator: " ")[0] } == (0..<200).map { "\($0)" })
  }

  @Test func cancellingEndsTheWaitForRoom() async throws {
    let (_, topic) = try open { $0.maximumPendingBytes = 1024 }
    let busy = try BusyWriter(topic)
    try await send(String(repeating: "x", count: 2000), to: topic)
    let sending = Task { try await send("never", to: topic) }
    let appending = Task { _ = try await topic.append(key: nil, value: [1], timestamp: .min) }
    let grouping = Task { _ = try await topic.append(contentsOf: [record("never"), record("ever")]) }
    while topic.writer?.queue.waitingForRoom ?? 0 < 3 { await Task.yield() }
    for task in [sending, appending, grouping] {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    busy.release()
    try await topic.flush()
    #expect(try topic.counts() == [0, 1])
  }

  @Test func aFlushTellsWhatCouldNotBeWritten() async throws {
    let (_, topic) = try open()
    faults.fail(1)
    try await send("lost", to: topic)
    let error = await failureOf { try await topic.flush() }
    #expect(error?.isRetriable == true)
    #expect(error?.description.contains("1 records that were enqueued are not in the log") == true)
    try await send("kept", to: topic)
    try await topic.flush()
    // A failure nobody waited for is the next flush's.
    faults.fail(1)
    try await send("lost", to: topic)
    timer.advance(.seconds(1))
    try topic.sealBlocking()
    #expect(await failureOf { try await topic.flush() } != nil)
    try await topic.flush()
    #expect(try topic.values(1) == ["kept"])
  }

  @Test func badRecordsAreRefusedAtOnce() async throws {
    let (log, topic) = try open()
    let large = await failureOf {
      try await topic.send(key: nil, value: Array(repeating: 0, count: 2 << 20), timestamp: .min)
    }
    #expect(large?.code == .recordTooLarge && large?.limit == 1 << 20)
    let partition = await failureOf { try await topic.send(key: nil, value: [], timestamp: .min, partition: 2) }
    #expect(partition?.code == .invalidPartition)
    try await send("last", to: topic)
    log.close()
    let closed = await failureOf { try await send("x", to: topic) }
    #expect(closed?.code == .closed)
    #expect(try EventLog.open(at: directory.path).topic("t").values(1) == ["last"])
  }
}
