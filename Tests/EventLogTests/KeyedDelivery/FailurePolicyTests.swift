import Bytes
import Synchronization
import Testing

@testable import EventLog

@Suite("Records that fail") struct FailurePolicyTests {
  typealias Journal = ForEachTests.Journal
  typealias Failure = ForEachTests.Failure

  /// A clock that moves on by as much as somebody wants to sleep.
  final class SteppingClock: Sendable {
    private let state = Mutex<(now: Duration, slept: [Duration])>((.zero, []))
    var slept: [Duration] { state.withLock { $0.slept } }
    var clock: GroupClock {
      GroupClock(
        now: { self.state.withLock { $0.now } },
        sleep: { duration in
          // The intervals of commits and of stopping are none of ours.
          if duration >= .seconds(1000) { return try await Task.sleep(for: .seconds(1000)) }
          self.state.withLock { state in
            state.now += duration
            state.slept.append(duration)
          }
          await Task.yield()
        })
    }
  }

  private func options(_ attempts: Int, _ policy: FailurePolicy) -> DeliveryOptions {
    DeliveryOptions(
      commitInterval: .seconds(5000), retry: RetryPolicy(attempts: attempts, initialDelay: .seconds(10), jitter: 0),
      onFailure: policy, stopTimeout: .seconds(5000))
  }

  @Test func areTriedAgainWithGrowingDelaysWhileTheirKeyWaits() async throws {
    let fixture = try GroupFixture()
    try fixture.write(40, keys: 4)
    let time = SteppingClock()
    let member = try fixture.member { $0.clock = time.clock }
    let journal = Journal()
    let tries = Mutex<[Int64: Int]>([:])
    let counts = try await member.forEach(options(5, .fail)) { record in
      journal.begin(record)
      let count = tries.withLock { tries in
        tries[record.offset, default: 0] += 1
        return tries[record.offset] ?? 0
      }
      let isBad = record.offset == 2 && count < 4
      if isBad { journal.state.withLock { $0.running[record.key ?? []] = 0 } }
      if isBad { throw Failure() }
      journal.finish(record)
    }
    #expect(counts.finished == 40 && counts.retries == 3)
    for key in 0..<4 {
      let offsets = journal.offsets(of: "key \(key)")
      #expect(offsets == offsets.sorted() && offsets.count == 10)
    }
    #expect(time.slept.reduce(.zero, +) == .seconds(60))
    #expect(try member.lag() == [0])
  }

  @Test func areSkippedAndCounted() async throws {
    let fixture = try GroupFixture()
    try fixture.write(20, keys: 20)
    let time = SteppingClock()
    let member = try fixture.member { $0.clock = time.clock }
    let counts = try await member.forEach(options(2, .skip)) { record in
      if record.offset % 5 == 0 { throw Failure() }
    }
    #expect(counts == DeliveryCounts(finished: 16, skipped: 4, retries: 4))
    #expect(member.deliveryCounts == counts)
    #expect(try member.lag() == [0])
  }

  @Test func goToTheDeadLetterTopicBeforeTheyCountAsFinished() async throws {
    let fixture = try GroupFixture()
    let letters = try fixture.log.topic("letters", TopicOptions())
    try fixture.topic.appendBlocking(contentsOf: [
      record("0", key: "a", at: 5),
      NewRecord(
        key: Array("b".utf8), value: Array("1".utf8), timestamp: Timestamp(microseconds: 6),
        headers: [LogHeader("own", [1, 2])]),
      NewRecord(key: nil, value: Array("2".utf8), timestamp: Timestamp(microseconds: 7)),
    ])
    let time = SteppingClock()
    let member = try fixture.member { $0.clock = time.clock }
    let counts = try await member.forEach(options(3, .deadLetter(letters))) { record in
      if record.offset > 0 { throw Failure() }
    }
    #expect(counts == DeliveryCounts(finished: 1, deadLettered: 2, retries: 4))
    let all = try letters.all().sorted { $0.timestamp < $1.timestamp }
    #expect(all.map(\.text) == ["1", "2"])
    #expect(all.map(\.key) == [Array("b".utf8), nil])
    let headers = try #require(all.first?.headers)
    #expect(headers.first == LogHeader("own", [1, 2]))
    let texts = Dictionary(uniqueKeysWithValues: headers.map { ($0.name, String(decoding: $0.value, as: UTF8.self)) })
    #expect(texts[DeadLetterHeader.reason] == "Failure()")
    #expect(texts[DeadLetterHeader.topic] == "events")
    #expect(texts[DeadLetterHeader.partition] == "0")
    #expect(texts[DeadLetterHeader.offset] == "1")
    #expect(texts[DeadLetterHeader.attempts] == "3")
    #expect(texts[DeadLetterHeader.group] == "group")
  }

  @Test func aDeadLetterThatCannotBeWrittenStopsAndTheRecordIsNotFinished() async throws {
    let fixture = try GroupFixture()
    let letters = try fixture.log.topic("letters", TopicOptions(maximumRecordBytes: 10))
    try fixture.write(1, keys: 1)
    let member = try fixture.member()
    var options = options(1, .deadLetter(letters))
    options.retry = .none
    let error = await failure { try await member.forEach(options) { _ in throw Failure() } }
    #expect(error?.code == .recordFailed)
    #expect(error?.message.contains("dead letter") == true)
    #expect(try member.lag() == [1])
    let reading = try EventLog.open(at: fixture.directory.path, LogOptions(access: .readOnly))
    let unwritable = DeliveryOptions(onFailure: .deadLetter(try reading.topic("letters")))
    let refused = await failure { try await member.forEach(unwritable) { _ in } }
    #expect(refused?.code == .readOnly)
  }
}
