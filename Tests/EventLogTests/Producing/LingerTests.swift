import Bytes
import LMDB
import Synchronization
import Testing

@testable import EventLog

@Suite struct LingerTests {
  let directory = TemporaryDirectory()
  let timer = ManualTimer()
  let faults = Faults()

  func open(linger: Duration, commitBytes: Int = 1 << 20) throws -> LogTopic {
    var options = LogOptions(commitBytes: commitBytes, linger: linger)
    options.timer = timer
    options.fault = faults.hook
    return try EventLog.open(at: directory.path, options).topic("t", TopicOptions(partitions: 2))
  }

  @Test func anIdleWriterWaitsSoThatMoreComeIntoOneCommit() async throws {
    let topic = try open(linger: .milliseconds(5))
    let appends = (0..<10).map { number in
      Task { try await topic.append(key: [UInt8(number)], value: [], timestamp: .min) }
    }
    while topic.writer?.queue.waitingRecords ?? 0 < 10 { await Task.yield() }
    #expect(timer.waiting == 1)
    timer.advance(.milliseconds(4))
    #expect(try topic.counts() == [0, 0])
    timer.advance(.milliseconds(1))
    for append in appends { _ = try await append.value }
    #expect(faults.tried == 1)
    #expect(try topic.counts().reduce(0, +) == 10)
  }

  @Test func aFlushOrEnoughBytesEndTheWait() async throws {
    let topic = try open(linger: .seconds(60), commitBytes: 4096)
    let append = Task { try await topic.append(key: [1], value: [], timestamp: .min) }
    while topic.writer?.queue.waitingRecords == 0 { await Task.yield() }
    try await topic.flush()
    _ = try await append.value
    _ = try await topic.append(contentsOf: (0..<100).map { record(String(repeating: "x", count: 50), key: "\($0)") })
    #expect(try topic.counts().reduce(0, +) == 101)
    #expect(faults.tried == 2)
  }

  @Test func whatSomebodyWaitsForShortensTheDelayOfWhatWasSent() async throws {
    var options = LogOptions(linger: .milliseconds(1), flushDelay: .milliseconds(50))
    options.timer = timer
    let topic = try EventLog.open(at: directory.path, options).topic("t", TopicOptions())
    try await topic.send(key: nil, value: [1], timestamp: .min)
    let append = Task { try await topic.append(key: nil, value: [2], timestamp: .min) }
    await timer.wait(for: 2)
    timer.advance(.milliseconds(1))
    #expect(try await append.value.offset == 1)
  }

  @Test func aLongerLingerHoldsForWhatIsSentToo() async throws {
    var options = LogOptions(linger: .milliseconds(100), flushDelay: .milliseconds(10))
    options.timer = timer
    let topic = try EventLog.open(at: directory.path, options).topic("t", TopicOptions())
    try await topic.send(key: nil, value: [1], timestamp: .min)
    timer.advance(.milliseconds(99))
    try topic.sealBlocking()
    #expect(try topic.counts() == [0])
    timer.advance(.milliseconds(1))
    try topic.sealBlocking()
    #expect(try topic.counts() == [1])
  }

  @Test func delaysOutOfRangeAreRefused() {
    for options in [
      LogOptions(linger: .seconds(-1)), LogOptions(linger: .seconds(3601)),
      LogOptions(flushDelay: .seconds(3601)), LogOptions(maximumProducers: 0), LogOptions(producerExpiry: .seconds(-1)),
    ] {
      #expect(failure { _ = try EventLog.open(at: directory.path, options) }?.code == .invalidOptions)
    }
  }

  @Test func theTimersThreadRunsJobsInOrderAndTheRestWhenItStops() throws {
    let timer = DelayTimer()
    let order = Mutex<[Int]>([])
    let done = BlockingResult<Void>()
    let first = BlockingResult<Void>()
    timer.after(nanoseconds: 3_600_000_000_000) { done.finish(.success(())) }
    timer.after(nanoseconds: 2_000_000) { first.finish(.success(())) }
    timer.after(nanoseconds: 0) { order.withLock { $0.append(1) } }
    try first.wait()
    #expect(order.withLock { $0 } == [1])
    timer.stop()
    try done.wait()
    timer.after(nanoseconds: 3_600_000_000_000) { order.withLock { $0.append(2) } }
    #expect(order.withLock { $0 } == [1, 2])
  }
}
