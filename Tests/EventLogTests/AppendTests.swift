import Bytes
import Testing

@testable import EventLog

@Suite struct AppendTests {
  let directory = TemporaryDirectory()

  @Test func anAppendIsDurableAndVisibleWhenItReturns() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    for index in 0..<5 as Range<Int64> {
      let position = try await topic.append(
        key: [1], value: [UInt8(index)], timestamp: Timestamp(microseconds: index), headers: [LogHeader("a", [2])])
      #expect(position == LogPosition(partition: 0, offset: index))
      #expect(try topic.endOffset(0) == index + 1)
      // What a crash would leave now has it.
      let crashed = directory.copy()
      let reopened = try EventLog.open(at: crashed.path).topic("t").all()
      #expect(reopened.map(\.value) == (0...index).map { [UInt8($0)] })
      #expect(reopened.last?.headers == [LogHeader("a", [2])])
    }
  }

  @Test func aKeyAlwaysLandsInThePartitionOfItsHash() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 7))
    let keys = (0..<200).map { Array("key \($0)".utf8) } + [[], Array(repeating: 1, count: 10_240)]
    for key in keys {
      let expected = key.withUnsafeBytes { KeyHash($0).partition(of: 7) }
      #expect(try topic.appendBlocking(key: key, value: [], timestamp: .min).partition == expected)
    }
    #expect(Set(try (0..<7).flatMap { try topic.all($0).map(\.key) }) == Set(keys))
  }

  @Test func manyRecordsAtOnceKeepTheirOrderPerPartition() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 4))
    let records = (0..<1000).map { record("\($0)", key: "\($0 % 13)") }
    let positions = try await topic.append(contentsOf: records)
    for (record, position) in zip(records, positions) {
      let found = try topic.all(position.partition)[Int(position.offset)]
      #expect(found.value == record.value && found.key == record.key)
    }
    #expect(try topic.appendBlocking(contentsOf: records).map(\.offset).min() ?? 0 > 0)
    #expect(try await topic.append(contentsOf: []) == [])
  }

  @Test func recordsWithoutKeySpreadOverThePartitions() throws {
    let log = try EventLog.open(at: directory.path, LogOptions(batchBytes: 1024))
    let topic = try log.topic("t", TopicOptions(partitions: 3))
    for index in 0..<300 { #expect(try topic.enqueue(String(repeating: "x", count: 50) + "\(index)")) }
    try topic.flushBlocking()
    let counts = try (0..<3).map { try topic.all($0).count }
    #expect(counts.reduce(0, +) == 300)
    #expect(counts.allSatisfy { $0 > 50 })
    #expect(try topic.all(0).allSatisfy { $0.key == nil })
    #expect(try topic.appendBlocking(key: nil, value: [], timestamp: .max, partition: 2).partition == 2)
  }

  @Test func aRecordAboveTheLimitIsRefusedWithBothSizesAndWritesNothing() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(maximumRecordBytes: 100))
    var error = failure { try topic.appendBlocking(key: [1], value: Array(repeating: 0, count: 100), timestamp: .min) }
    #expect(error?.code == .recordTooLarge)
    #expect(error?.size == 101 && error?.limit == 100)
    #expect(error?.isRetriable == false)
    error = failure { _ = try topic.enqueue(String(repeating: "v", count: 101)) }
    #expect(error?.size == 101)
    error = failure {
      _ = try topic.appendBlocking(contentsOf: [record("fine"), record(String(repeating: "v", count: 101))])
    }
    #expect(error?.code == .recordTooLarge)
    await #expect(throws: EventLogError.self) {
      try await topic.append(
        key: nil, value: [], timestamp: .min, headers: [LogHeader("h", Array(repeating: 1, count: 100))])
    }
    #expect(try topic.endOffset(0) == 0)
    // One that is accepted can be read.
    try topic.appendBlocking(key: [1], value: Array(repeating: 0, count: 99), timestamp: .min)
    #expect(try topic.all().count == 1)
  }

  @Test func aKeyAboveItsLimitIsRefused() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    let error = failure {
      try topic.appendBlocking(key: Array(repeating: 0, count: 65_535), value: [], timestamp: .min)
    }
    #expect(error?.size == 65_535 && error?.limit == 65_534)
    try topic.appendBlocking(key: Array(repeating: 0, count: 65_534), value: [], timestamp: .min)
    #expect(try topic.all().first?.key?.count == 65_534)
  }

  @Test func theLargestRecordGoesThrough() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(maximumRecordBytes: RecordFraming.maximumValueBytes))
    let value = [UInt8](repeating: 0xAB, count: RecordFraming.maximumValueBytes)
    try topic.appendBlocking(key: nil, value: value, timestamp: .max)
    try topic.put("after")
    #expect(try topic.all().map(\.value.count) == [value.count, 5])
  }

  @Test func enqueueSaysWhenItIsFullAndFlushMakesRoom() throws {
    // The writer starts by itself only at commitBytes, which is never reached here.
    let log = try EventLog.open(
      at: directory.path, LogOptions(maximumPendingBytes: 1024, commitBytes: 1 << 20, flushDelay: .seconds(3600)))
    let topic = try log.topic("t", TopicOptions())
    var accepted = 0
    var isFull = false
    while !isFull && accepted < 1000 {
      if try topic.enqueue(String(repeating: "x", count: 92)) { accepted += 1 } else { isFull = true }
    }
    #expect(isFull)
    #expect(accepted < 20)
    try topic.flushBlocking()
    #expect(try topic.endOffset(0) == Int64(accepted))
    #expect(try topic.enqueue("more"))
    try topic.flushBlocking()
    #expect(try topic.endOffset(0) == Int64(accepted) + 1)
  }

  @Test func appendsWaitForRoomInsteadOfFailing() async throws {
    let log = try EventLog.open(at: directory.path, LogOptions(maximumPendingBytes: 1024))
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    let records = (0..<500).map { record(String(repeating: "x", count: 60), key: "\($0)") }
    #expect(try await topic.append(contentsOf: records).count == 500)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<32 {
        group.addTask {
          for _ in 0..<10 {
            _ = try await topic.append(key: [UInt8(task)], value: Array(repeating: 1, count: 200), timestamp: .min)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try topic.endOffset(0) + topic.endOffset(1) == 820)
  }

  @Test func concurrentProducersKeepTheirOwnOrder() async throws {
    let log = try EventLog.open(at: directory.path, LogOptions(batchBytes: 2048))
    let topic = try log.topic("t", TopicOptions(partitions: 3, segmentBytes: 1 << 20))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for producer in 0..<16 {
        group.addTask {
          for number in 0..<50 {
            _ = try await topic.append(
              key: Array("\(producer)".utf8), value: Array("\(number)".utf8), timestamp: .min)
          }
        }
      }
      try await group.waitForAll()
    }
    var seen: [[UInt8]: [String]] = [:]
    for partition in 0..<3 {
      for record in try topic.all(partition) { seen[record.key ?? [], default: []].append(record.text) }
    }
    #expect(seen.count == 16)
    #expect(seen.values.allSatisfy { $0 == (0..<50).map(String.init) })
    #expect(try log.verify().isSound)
  }

  @Test func cancellingDoesNotUndoAnAcceptedAppend() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    let task = Task { try await topic.append(key: nil, value: [1], timestamp: .min) }
    task.cancel()
    let position = try await task.value
    #expect(try topic.all()[Int(position.offset)].value == [1])
  }

  @Test func closingWritesWhatWasAcceptedAndRefusesTheRest() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    #expect(try topic.enqueue("a"))
    log.close()
    #expect(failure { _ = try topic.enqueue("b") }?.code == .closed)
    #expect(failure { try topic.put("b") }?.code == .closed)
    #expect(failure { try topic.flushBlocking() } == nil)
    #expect(failure { _ = try topic.endOffset(0) }?.code == .closed)
    #expect(failure { _ = try log.topic("t") }?.code == .closed)
    #expect(try EventLog.open(at: directory.path).topic("t").values() == ["a"])
  }

  @Test func badPartitionsAreRefused() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    for partition in [-1, 2] {
      let error = failure { try topic.appendBlocking(key: nil, value: [], timestamp: .min, partition: partition) }
      #expect(error?.code == .invalidPartition)
      #expect(failure { _ = try topic.endOffset(partition) }?.code == .invalidPartition)
      #expect(failure { _ = try topic.reader(partition: partition, from: 0) }?.code == .invalidPartition)
    }
  }
}
