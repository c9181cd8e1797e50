import Bytes
import Testing

@testable import EventLog

@Suite struct IdempotenceTests {
  let directory = TemporaryDirectory()
  let producer = ProducerID(id: 42, epoch: 0)

  func append(_ values: [String], _ sequence: Int64, to topic: LogTopic, epoch: UInt32 = 0) throws -> IdempotentResult {
    try topic.appendIdempotentBlocking(
      values.map { record($0) }, partition: 0, producer: ProducerID(id: 42, epoch: epoch), sequence: sequence)
  }

  @Test func repeatsAreDroppedGapsRefusedOlderEpochsFenced() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    #expect(try append(["a", "b"], 0, to: topic).positions == 0..<2)
    let again = try append(["a", "b"], 0, to: topic)
    #expect(again.positions.isEmpty && again.repeated == 2)
    let partly = try append(["b", "c", "d"], 1, to: topic)
    #expect(partly.positions == 2..<4 && partly.repeated == 1)
    let gap = failure { _ = try append(["x"], 5, to: topic) }
    #expect(gap?.code == .sequenceGap && gap?.expectedSequence == 4)
    #expect(failure { _ = try append(["x"], 1, to: topic, epoch: 1) }?.expectedSequence == 0)
    #expect(try append(["e"], 0, to: topic, epoch: 1).positions == 4..<5)
    #expect(failure { _ = try append(["late"], 4, to: topic) }?.code == .fenced)
    // Another partition counts for itself.
    let other = try await topic.appendIdempotent([record("z")], partition: 1, producer: producer, sequence: 0)
    #expect(other.positions == 0..<1)
    #expect(try topic.values() == ["a", "b", "c", "d", "e"])
  }

  @Test func lastSequencesSurviveRestartRollAndRetention() throws {
    let clock = TestClock()
    func open() throws -> (EventLog, LogTopic) {
      let log = try EventLog.open(at: directory.path, LogOptions(clock: clock.read))
      return (log, try log.topic("t", TopicOptions(retentionAge: .seconds(10))))
    }
    var (log, topic) = try open()
    _ = try append(["a", "b"], 0, to: topic)
    log.close()
    (log, topic) = try open()
    #expect(try append(["b", "c"], 1, to: topic).repeated == 1)
    try topic.sealBlocking()
    #expect(try append(["c"], 2, to: topic).repeated == 1)
    clock.advance(seconds: 60)
    #expect(try log.maintainBlocking() == 1)
    #expect(try topic.startOffset(0) == 3)
    log.close()
    (log, topic) = try open()
    #expect(try append(["c", "d"], 2, to: topic).positions == 3..<4)
    #expect(try topic.values() == ["d"])
  }

  @Test func manyInOneCommitSeeEachOther() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    // The same first batch from many tasks: one of them appends it.
    let results = try await withThrowingTaskGroup(of: IdempotentResult.self) { group in
      for _ in 0..<20 {
        group.addTask {
          try await topic.appendIdempotent([record("only")], partition: 0, producer: producer, sequence: 0)
        }
      }
      return try await group.reduce(into: [IdempotentResult]()) { $0.append($1) }
    }
    #expect(results.filter { $0.repeated == 0 }.count == 1)
    #expect(try topic.values() == ["only"])
  }

  @Test func theProducerIsReadBack() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    _ = try append(["a"], 0, to: topic, epoch: 3)
    try topic.put("plain")
    var producers: [ProducerID?] = []
    try topic.reader(partition: 0, from: 0).read { producers.append($0.producer) }
    #expect(producers == [ProducerID(id: 42, epoch: 3), nil])
  }

  @Test func emptyAndOversizedAppendsAreRefused() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    #expect(failure { _ = try append([], 0, to: topic) } != nil)
    #expect(failure { _ = try append(["a"], -1, to: topic) } != nil)
  }
}
