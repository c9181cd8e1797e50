import Bytes
import Testing

@testable import EventLog

/// How many idempotent producers a topic remembers, and which it forgets.
@Suite struct ProducerBoundTests {
  let directory = TemporaryDirectory()
  let clock = TestClock()

  func open() throws -> (EventLog, LogTopic) {
    let log = try EventLog.open(
      at: directory.path,
      LogOptions(maximumProducers: 4, producerExpiry: .seconds(100), clock: clock.read))
    return (log, try log.topic("t", TopicOptions(partitions: 2)))
  }

  func append(_ id: UInt64, _ sequence: Int64, to topic: LogTopic, partition: Int = 0) throws -> IdempotentResult {
    try topic.appendIdempotentBlocking(
      [record("\(id).\(sequence)")], partition: partition, producer: ProducerID(id: id, epoch: 0), sequence: sequence)
  }

  @Test func atTheBoundNewOnesAreRefusedUntilOldOnesMayBeForgotten() async throws {
    var (log, topic) = try open()
    for id in 0..<4 as Range<UInt64> {
      _ = try append(id, 0, to: topic)
      clock.advance(seconds: 10)
    }
    #expect(failure { _ = try append(9, 0, to: topic) }?.code == .tooManyProducers)
    #expect(failure { _ = try append(0, 0, to: topic, partition: 1) }?.code == .tooManyProducers)
    #expect(await failureOf { _ = try await topic.producer(named: "late") }?.code == .tooManyProducers)
    // Those who are known go on, and others are not concerned.
    #expect(try append(0, 1, to: topic).repeated == 0)
    try topic.put("plain")
    // The second appended 91 and more seconds ago, then more than a hundred.
    clock.advance(seconds: 65)
    #expect(failure { _ = try append(9, 0, to: topic) }?.code == .tooManyProducers)
    clock.advance(seconds: 10)
    #expect(try append(9, 0, to: topic).repeated == 0)
    #expect(try append(0, 1, to: topic).repeated == 1)
    #expect(failure { _ = try append(1, 1, to: topic) } != nil)
    // Still so after a restart and a roll.
    try topic.sealBlocking()
    log.close()
    (log, topic) = try open()
    #expect(try append(9, 0, to: topic).repeated == 1)
    #expect(try append(0, 1, to: topic).repeated == 1)
  }

  @Test func aNameIsNotForgottenWhileItsProducerAppends() async throws {
    let (_, topic) = try open()
    let producer = try await topic.producer(named: "steady")
    for _ in 0..<3 {
      try await producer.append(key: nil, value: [1], timestamp: .min, partition: 0)
      clock.advance(seconds: 90)
    }
    _ = try append(1, 0, to: topic)
    _ = try append(2, 0, to: topic)
    #expect(failure { _ = try append(3, 0, to: topic) }?.code == .tooManyProducers)
    #expect(try await topic.producer(named: "steady").id.epoch == 1)
  }

  @Test func belowTheBoundNothingIsForgotten() throws {
    let (_, topic) = try open()
    _ = try append(1, 0, to: topic)
    clock.advance(seconds: 1_000_000)
    try topic.sealBlocking()
    _ = try append(2, 0, to: topic)
    #expect(try append(1, 0, to: topic).repeated == 1)
    #expect(try append(1, 1, to: topic).positions == 2..<3)
  }
}
