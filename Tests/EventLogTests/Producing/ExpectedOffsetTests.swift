import Bytes
import LMDB
import Testing

@testable import EventLog

/// Of two writers that expect the same end one succeeds, and its neighbours.
@Suite struct ExpectedOffsetTests {
  let directory = TemporaryDirectory()

  @Test func ofTwoWritersThatExpectTheSameEndOneSucceedsAndTheOtherGetsTheActualEnd() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    try topic.put("first")
    let outcomes = try await withThrowingTaskGroup(of: Result<LogPosition, any Error>.self) { group in
      for number in 0..<16 as Range<UInt8> {
        group.addTask {
          do {
            return .success(try await topic.append(key: [1], value: [number], timestamp: .min, expecting: 1))
          } catch { return .failure(error) }
        }
      }
      return try await group.reduce(into: [Result<LogPosition, any Error>]()) { $0.append($1) }
    }
    #expect(outcomes.compactMap { try? $0.get() } == [LogPosition(partition: 0, offset: 1)])
    for case .failure(let error) in outcomes {
      let error = try #require(error as? EventLogError)
      #expect(error.code == .unexpectedOffset && error.actualOffset == 2 && !error.isRetriable)
    }
    #expect(try topic.counts() == [2])
  }

  @Test func whatWasAcceptedBeforeCounts() async throws {
    let log = try EventLog.open(at: directory.path, LogOptions(flushDelay: .seconds(3600)))
    let topic = try log.topic("t", TopicOptions())
    #expect(try topic.enqueue("enqueued"))
    let error = await failureOf { try await topic.append(key: nil, value: [], timestamp: .min, expecting: 0) }
    #expect(error?.actualOffset == 1)
    #expect(try await topic.append(key: nil, value: [7], timestamp: .min, expecting: 1).offset == 1)
    #expect(try topic.values() == ["enqueued", "\u{7}"])
  }

  @Test func othersOfTheSameCommitDoNotSufferFromARefusedOne() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    let busy = try BusyWriter(topic)
    async let plain = topic.append(contentsOf: [record("a"), record("b")], partition: 0)
    async let refused = failureOf { try await topic.append(contentsOf: [record("x")], partition: 1, expecting: 5) }
    async let other = topic.append(contentsOf: [record("c")], partition: 1, expecting: 0)
    busy.release()
    #expect(try await plain.count == 2)
    #expect(await refused?.code == .unexpectedOffset)
    #expect(try await other == [LogPosition(partition: 1, offset: 0)])
    #expect(try topic.values(0) == ["a", "b"])
    #expect(try topic.values(1) == ["c"])
  }

  @Test func aGroupIsRefusedAsAWholeForAnyOfSeveralPartitions() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 3))
    let group = (0..<30).map { record("\($0)", key: "\($0)") }
    let positions = try await topic.append(contentsOf: group, expecting: [0: 0, 1: 0, 2: 0])
    let counts = try topic.counts()
    #expect(positions.count == 30 && counts.allSatisfy { $0 > 0 })
    let stale = [0: Int64(counts[0]), 1: Int64(counts[1]), 2: 0]
    let error = await failureOf { try await topic.append(contentsOf: group, expecting: stale) }
    #expect(error?.partition == 2 && error?.actualOffset == Int64(counts[2]))
    #expect(try topic.counts() == counts)
    // A partition that is read but not written may be named, too.
    let one = [record("one", key: "0")]
    #expect(try topic.appendBlocking(contentsOf: one, expecting: [2: Int64(counts[2])]).count == 1)
    let bad = failure { try topic.appendBlocking(contentsOf: one, expecting: [3: 0]) }
    #expect(bad?.code == .invalidPartition)
  }

  @Test func anExpectationNeedsOnePartition() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 8))
    let none = await failureOf { try await topic.append(key: nil, value: [], timestamp: .min, expecting: 0) }
    #expect(none?.code == .invalidPartition)
    let several = (0..<20).map { record("", key: "\($0)") }
    let mixed = await failureOf { try await topic.append(contentsOf: several, expecting: 0) }
    #expect(mixed?.code == .invalidPartition)
    #expect(try await topic.append(contentsOf: several, partition: 3, expecting: 0).count == 20)
    #expect(try await topic.append(contentsOf: [], expecting: 9) == [])
  }

  @Test func theExpectationHoldsAcrossRollsAndRestarts() async throws {
    var log = try EventLog.open(at: directory.path)
    var topic = try log.topic("t", TopicOptions())
    try topic.put("a")
    try topic.sealBlocking()
    #expect(await failureOf { try await topic.append(key: nil, value: [], timestamp: .min, expecting: 0) } != nil)
    try await topic.append(key: nil, value: [], timestamp: .min, expecting: 1)
    log.close()
    log = try EventLog.open(at: directory.path)
    topic = try log.topic("t")
    try await topic.append(key: nil, value: [], timestamp: .min, expecting: 2)
    #expect(try topic.counts() == [3])
  }

  /// An event-sourced account: read, decide, append what must not be decided twice.
  @Test func decisionsOnWhatWasReadAreNeverMadeTwice() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<20 {
            while true {
              let balance = try topic.all(1).count
              let value = Array("\(balance)".utf8)
              do {
                try await topic.append(
                  key: nil, value: value, timestamp: .min, partition: 1, expecting: Int64(balance))
                break
              } catch let error as EventLogError where error.code == .unexpectedOffset {}
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try topic.values(1) == (0..<160).map(String.init))
  }
}
