import Bytes
import LMDB
import Testing

@testable import EventLog

/// Idempotent producers by name.
@Suite struct ProducerTests {
  let directory = TemporaryDirectory()
  let timer = ManualTimer()
  let faults = Faults()

  func open() throws -> (EventLog, LogTopic) {
    var options = LogOptions()
    options.timer = timer
    options.fault = faults.hook
    let log = try EventLog.open(at: directory.path, options)
    return (log, try log.topic("t", TopicOptions(partitions: 3)))
  }

  @Test func everyOpeningFencesTheOnesBeforeAtOnce() async throws {
    let (_, topic) = try open()
    let first = try await topic.producer(named: "importer")
    #expect(try await first.append(key: nil, value: [1], timestamp: .min, partition: 0).offset == 0)
    let second = try await topic.producer(named: "importer")
    #expect(second.id.id == first.id.id && second.id.epoch == first.id.epoch + 1)
    // Before the second one has appended anything, and in a partition nobody has appended to.
    for partition in [0, 1, 0] {
      let error = await failureOf {
        try await first.append(key: nil, value: [2], timestamp: .min, partition: partition)
      }
      #expect(error?.code == .fenced)
    }
    #expect(failure { try first.appendBlocking(contentsOf: [record("x")]) }?.code == .fenced)
    #expect(try await second.append(key: nil, value: [3], timestamp: .min, partition: 0).offset == 1)
    let other = try await topic.producer(named: "other")
    #expect(try await other.append(key: nil, value: [4], timestamp: .min, partition: 0).offset == 2)
    #expect(try topic.counts() == [3, 0, 0])
  }

  @Test func whatWasUnderWayWhenTheNextOneWasOpenedIsFencedToo() async throws {
    let (_, topic) = try open()
    let first = try await topic.producer(named: "importer")
    let busy = try BusyWriter(topic)
    // Opening is asked for first, the append is in the queue before it happens.
    async let second = topic.producer(named: "importer")
    async let late = failureOf { try await first.append(key: nil, value: [1], timestamp: .min) }
    while topic.writer?.queue.waitingRecords == 0 { await Task.yield() }
    busy.release()
    let (epoch, error) = (try await second.id.epoch, await late)
    // Whichever job came first: the append is there, or it was fenced.
    #expect(epoch == 1)
    #expect(try topic.counts().reduce(0, +) == (error == nil ? 1 : 0))
    #expect(error == nil || error?.code == .fenced)
  }

  @Test func epochsSurviveRestartsRollsAndRetention() async throws {
    var (log, topic) = try open()
    for epoch in 0..<6 as Range<UInt32> {
      let producer = try await topic.producer(named: "importer")
      #expect(producer.id.epoch == epoch)
      if epoch % 2 == 0 { try await producer.append(key: [1], value: [1], timestamp: .min) }
      try topic.sealBlocking()
      if epoch == 3 {
        try log.setOptions(of: "t") { $0.retentionBytes = 0 }
        try log.maintainBlocking()
      }
      log.close()
      (log, topic) = try open()
    }
    // What is left of an older epoch in its own numbers is fenced as well.
    let id = ProducerID(id: ProducerID.id(ofName: "importer"), epoch: 4)
    let error = await failureOf {
      _ = try await topic.appendIdempotent([record("old")], partition: 0, producer: id, sequence: 0)
    }
    #expect(error?.code == .fenced)
  }

  @Test func callsFromManyTasksAreNumberedWithoutGapsAndInOrderOfTheirTask() async throws {
    let (_, topic) = try open()
    let producer = try await topic.producer(named: "importer")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask {
          for number in 0..<30 {
            let records = (0..<3).map { record("\(number).\($0)", key: "\(task)") }
            let positions = try await producer.append(contentsOf: records)
            let found = try topic.all(positions[0].partition)
            #expect(
              positions.map { found[Int($0.offset)].text } == records.map { String(decoding: $0.value, as: UTF8.self) })
          }
        }
      }
      try await group.waitForAll()
    }
    var seen: [[UInt8]: [String]] = [:]
    var next: [Int64] = []
    for partition in 0..<3 {
      for record in try topic.all(partition) { seen[record.key ?? [], default: []].append(record.text) }
      next.append(try await topic.lastSequence(ofProducer: producer.id.id, partition: partition)?.sequence ?? -1)
    }
    #expect(seen.count == 16)
    #expect(seen.values.allSatisfy { $0 == (0..<30).flatMap { number in (0..<3).map { "\(number).\($0)" } } })
    #expect(next.map { Int($0) + 1 } == (try topic.counts()))
  }

  @Test func failuresThatMayPassAreTriedAgainInOrder() async throws {
    let (_, topic) = try open()
    let producer = try await topic.producer(named: "importer")
    try await producer.append(key: [1], value: Array("0".utf8), timestamp: .min)
    faults.fail(3)
    let appends = Task {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<5 {
          group.addTask { try await producer.append(key: [1], value: Array("x".utf8), timestamp: .min) }
        }
        try await group.waitForAll()
      }
    }
    // 10, 20 and 40 milliseconds.
    for delay in [10, 20, 40] {
      await timer.wait(for: 1)
      timer.advance(.milliseconds(delay))
    }
    try await appends.value
    #expect(try topic.counts().reduce(0, +) == 6)
    let partition = [UInt8(1)].withUnsafeBytes { topic.partition(forKey: $0) }
    #expect(try await topic.lastSequence(ofProducer: producer.id.id, partition: partition)?.sequence == 5)
  }

  @Test func afterTheRetriesTheCallFailsAndLaterOnesGoOn() async throws {
    let (_, topic) = try open()
    let producer = try await topic.producer(named: "importer", retryFor: .milliseconds(25))
    faults.fail(3)
    let append = Task { try await producer.append(key: [1], value: Array("lost".utf8), timestamp: .min) }
    for delay in [10, 20] {
      await timer.wait(for: 1)
      timer.advance(.milliseconds(delay))
    }
    let error = await failureOf { _ = try await append.value }
    #expect(error?.cause?.code == .diskFull)
    #expect(try await producer.append(key: [1], value: Array("kept".utf8), timestamp: .min).offset == 0)
    #expect(try topic.counts().reduce(0, +) == 1)
  }

  @Test func aCallIsAllOrNothingOverItsPartitions() async throws {
    let (log, topic) = try open()
    let producer = try await topic.producer(named: "importer", retryFor: .zero)
    let group = (0..<60).map { record("\($0)", key: "\($0)") }
    faults.fail(1)
    #expect(await failureOf { _ = try await producer.append(contentsOf: group) } != nil)
    #expect(try topic.counts() == [0, 0, 0])
    #expect(try await producer.append(contentsOf: group).count == 60)
    #expect(try topic.counts().allSatisfy { $0 > 0 })
    #expect(try await producer.append(contentsOf: []) == [])
    #expect(try producer.appendBlocking(contentsOf: group, partition: 1).allSatisfy { $0.partition == 1 })
    log.close()
    #expect(await failureOf { _ = try await producer.append(contentsOf: group) }?.code == .closed)
    #expect(failure { try producer.appendBlocking(contentsOf: group) }?.code == .closed)
  }

  @Test func closingEndsACallThatWaitsForItsNextTry() async throws {
    let (log, topic) = try open()
    let producer = try await topic.producer(named: "importer")
    faults.fail(1)
    let append = Task { try await producer.append(key: nil, value: [1], timestamp: .min) }
    await timer.wait(for: 1)
    log.close()
    #expect(await failureOf { _ = try await append.value }?.code == .closed)
  }

  @Test func limitsAreRefusedBeforeAnythingIsWritten() async throws {
    let (_, topic) = try open()
    let producer = try await topic.producer(named: "importer")
    let many = Array(repeating: record(""), count: 65_537)
    let tooMany = await failureOf { _ = try await producer.append(contentsOf: many) }
    #expect(tooMany?.code == .groupTooLarge && tooMany?.size == 65_537 && tooMany?.limit == 65_536)
    let large = Array(
      repeating: NewRecord(key: nil, value: Array(repeating: 1, count: 1 << 20), timestamp: .min), count: 17)
    #expect(await failureOf { _ = try await producer.append(contentsOf: large) }?.limit == 17 << 20)
    #expect(try await producer.append(contentsOf: Array(large.dropLast())).count == 16)
    #expect(try await producer.append(contentsOf: Array(many.dropLast())).count == 65_536)
    for name in ["", String(repeating: "é", count: 128)] {
      #expect(await failureOf { _ = try await topic.producer(named: name) }?.code == .invalidOptions)
    }
    let readers = try EventLog.open(at: directory.path, LogOptions(access: .readOnly))
    #expect(await failureOf { _ = try await readers.topic("t").producer(named: "x") }?.code == .readOnly)
  }

  @Test func aRepeatComesWithItsOriginalOffsets() async throws {
    var (log, topic) = try open()
    let id = ProducerID(id: 7, epoch: 0)
    func append(_ sequence: Int64, _ count: Int) async throws -> IdempotentResult {
      try await topic.appendIdempotent(
        (0..<count).map { record("\(sequence + Int64($0))") }, partition: 1, producer: id, sequence: sequence)
    }
    // Others append between, so that the producer's numbers and the offsets part: 0–9 at 0, 10–19 at 11, and so on.
    for part in 0..<8 as Range<Int64> {
      #expect(try await append(part * 10, 10).positions == part * 11..<part * 11 + 10)
      try await topic.append(contentsOf: [record("other")], partition: 1)
    }
    for _ in 0..<2 {
      #expect(try await append(70, 10).repeatedPositions == 77..<87)
      #expect(try await append(33, 4).repeatedPositions == 36..<40)
      // Across two stretches, and before the last five.
      #expect(try await append(65, 10).repeatedPositions == nil)
      #expect(try await append(20, 10) == IdempotentResult(positions: 88..<88, partition: 1, repeated: 10))
      log.close()
      (log, topic) = try open()
    }
    let partly = try await append(75, 10)
    #expect(partly.repeated == 5 && partly.repeatedPositions == 82..<87 && partly.positions == 88..<93)
  }

  @Test func aRepeatOfARetriedCommitIsCountedOnce() throws {
    // The first attempt finds the segment full, when the repeats have been dropped already.
    var options = LogOptions()
    options.segmentMapBytes = 1 << 20
    let topic = try EventLog.open(at: directory.path, options).topic("t", TopicOptions(segmentBytes: 1 << 30))
    let id = ProducerID(id: 7, epoch: 0)
    let half = NewRecord(key: nil, value: Array(repeating: 1, count: 300_000), timestamp: .min)
    let first = try topic.appendIdempotentBlocking([half, half], partition: 0, producer: id, sequence: 0)
    #expect(first.positions == 0..<2)
    let second = try topic.appendIdempotentBlocking([half, half, half], partition: 0, producer: id, sequence: 1)
    #expect(second.positions == 2..<4 && second.repeated == 1 && second.repeatedPositions == 1..<2)
    #expect(try topic.describe().segments.count == 2)
  }
}
