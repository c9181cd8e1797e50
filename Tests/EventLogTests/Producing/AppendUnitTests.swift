import Bytes
import LMDB
import Testing

@testable import EventLog

/// What is appended together is one: in the queue, on the disk, and for readers.
@Suite struct AppendUnitTests {
  let directory = TemporaryDirectory()

  @Test func ofAGroupThatDoesNotFitNothingIsWritten() async throws {
    var options = LogOptions(batchBytes: 1024, commitBytes: 2048)
    options.segmentMapBytes = 1 << 20
    let log = try EventLog.open(at: directory.path, options)
    let topic = try log.topic("t", TopicOptions(partitions: 3, segmentBytes: 1 << 30))
    try topic.put("before", key: "k")
    let large = (0..<2000).map { record(String(repeating: "x", count: 1000), key: "\($0)") }
    let error = await failureOf { _ = try await topic.append(contentsOf: large) }
    #expect(error?.cause?.code == .mapFull && error?.isRetriable == true)
    #expect(try topic.counts().reduce(0, +) == 1)
    // Far more than a commit's usual size, still one.
    #expect(try await topic.append(contentsOf: Array(large.prefix(400))).count == 400)
    #expect(try topic.counts().reduce(0, +) == 401)
    #expect(try log.verify().isSound)
  }

  @Test func readersSeeAllOfAGroupOrNothing() async throws {
    let log = try EventLog.open(at: directory.path, LogOptions(batchBytes: 1024, commitBytes: 1024))
    let topic = try log.topic("t", TopicOptions(partitions: 3))
    let group = (0..<12).map { record(String(repeating: "x", count: 300), key: "\($0)") }
    let spread = try await topic.append(contentsOf: group).reduce(into: [0, 0, 0]) { $0[$1.partition] += 1 }
    #expect(spread.allSatisfy { $0 > 0 })
    let isDone = Flag()
    let beside = try EventLog.open(at: directory.path, LogOptions(access: .readOnly)).topic("t")
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        // In the writer's process, and as another process reads.
        while !isDone.isSet {
          for reading in [topic, beside] {
            let counts = try reading.counts()
            #expect(counts.map { $0 * spread[0] } == spread.map { $0 * counts[0] })
          }
          await Task.yield()
        }
      }
      tasks.addTask {
        try await withThrowingTaskGroup(of: Void.self) { writers in
          for _ in 0..<8 {
            writers.addTask { for _ in 0..<25 { _ = try await topic.append(contentsOf: group) } }
          }
          try await writers.waitForAll()
        }
        isDone.set()
      }
      try await tasks.waitForAll()
    }
    #expect(try topic.counts() == spread.map { $0 * 201 })
    #expect(try beside.counts() == spread.map { $0 * 201 })
  }

  @Test func aGroupAboveTheLimitIsRefusedWithBothSizes() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2, maximumRecordBytes: 9 << 20))
    let eight = NewRecord(key: [1], value: Array(repeating: 1, count: (8 << 20) - 25), timestamp: .min)
    let error = failure { try topic.appendBlocking(contentsOf: [eight, eight, eight, eight, record("")]) }
    #expect(error?.code == .groupTooLarge)
    #expect(error?.size == (32 << 20) + 24 && error?.limit == 32 << 20)
    #expect(error?.description.contains("split it") == true)
    #expect(try topic.counts() == [0, 0])
    #expect(try topic.appendBlocking(contentsOf: [eight, eight, eight, eight]).map(\.offset) == [0, 1, 2, 3])
    #expect(try topic.all(topic.counts()[0] > 0 ? 0 : 1).count == 4)
  }

  @Test func aGroupOfManyBatchesComesBackInOrderWithItsHeaders() async throws {
    let log = try EventLog.open(at: directory.path, LogOptions(maximumPendingBytes: 1024, batchBytes: 1024))
    let topic = try log.topic("t", TopicOptions(partitions: 4))
    #expect(try topic.enqueue("earlier", key: "3"))
    let records = (0..<500).map { Self.numbered($0) }
    let positions = try await topic.append(contentsOf: records)
    for (record, position) in zip(records, positions) {
      let found = try topic.all(position.partition)[Int(position.offset)]
      #expect(found.value == record.value && found.key == record.key && found.headers == record.headers)
    }
    var withoutKey: Set<Int> = []
    for (record, position) in zip(records, positions) where record.key == nil { withoutKey.insert(position.partition) }
    #expect(withoutKey.count == 1)
    let moved = try await topic.append(contentsOf: records, partition: 2)
    #expect(moved.allSatisfy { $0.partition == 2 })
    let first = moved[0].offset
    #expect(moved.map(\.offset) == Array(first..<first + 500))
  }

  private static func numbered(_ number: Int) -> NewRecord {
    let key: [UInt8]? = number % 7 == 0 ? nil : Array("\(number % 13)".utf8)
    return NewRecord(
      key: key, value: Array("\(number)".utf8), timestamp: Timestamp(microseconds: Int64(number)),
      headers: [LogHeader("n", [UInt8(number % 256)])])
  }

  /// The queue alone, with a taker of random appetite: no unit is parted, none overtakes another in a partition.
  @Test(arguments: 0..<4) func theQueueNeverPartsAUnit(round: UInt64) throws {
    var (random, seed) = SeededGenerator.fresh("AppendUnitTests")
    random = SeededGenerator(seed: seed &+ round)
    let queue = AppendQueue(
      partitions: 3, limits: AppendQueue.Limits(maximumBytes: .max, batchBytes: 400, commitBytes: 1000),
      delays: AppendQueue.Delays(awaited: 0, unawaited: 0, timer: ManualTimer()), start: {})
    var expected: [[String]] = [[], [], []]
    var found: [[String]] = [[], [], []]
    var number = 0
    for step in 0..<300 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0...1:
        let unit = EncodedUnit(queue, count: 0)
        for _ in 0..<Int.random(in: 1...20, using: &random) {
          let partition = Int.random(in: 0..<3, using: &random)
          unit.add(record("\(number)"), partition: partition)
          expected[partition].append("\(number)")
          number += 1
        }
        let batches = unit.batches.count
        #expect(try queue.submit(unit, AppendUnit(batches: batches) { _ in }) == .accepted)
      case 2:
        let partition = Int.random(in: 0..<3, using: &random)
        try Array("\(number)".utf8).withUnsafeBytes { value in
          let none = UnsafeRawBufferPointer(start: nil, count: 0)
          _ = try queue.enqueue(key: none, hasKey: false, value: value, timestamp: 0, partition: partition)
        }
        expected[partition].append("\(number)")
        number += 1
      default: take(queue, Int.random(in: 1...3000, using: &random), &found, "seed \(seed) round \(round) step \(step)")
      }
    }
    while take(queue, 500, &found, "seed \(seed) round \(round)") {}
    #expect(found == expected, "seed \(seed) round \(round)")
  }

  @discardableResult
  private func take(_ queue: AppendQueue, _ bytes: Int, _ found: inout [[String]], _ place: String) -> Bool {
    guard let batches = queue.take(upTo: bytes) else { return false }
    var size = 0
    var open: (unit: AppendUnit, left: Int)?
    for handle in batches {
      handle.pointer.pointee.withTexts { texts in found[handle.pointer.pointee.partition] += texts }
      size += handle.pointer.pointee.byteCount
      if let unit = handle.pointer.pointee.unit {
        if handle.pointer.pointee.continuesUnit {
          #expect(open?.unit === unit, "\(place)")
        } else {
          #expect(open?.left ?? 0 == 0, "\(place)")
          open = (unit, unit.batches)
        }
        open?.left -= 1
      } else {
        #expect(open?.left ?? 0 == 0, "\(place)")
      }
    }
    #expect(open?.left ?? 0 == 0, "\(place)")
    queue.release(size)
    queue.finished(batches)
    return true
  }
}

extension OpenBatch {
  /// The values of the batch's records.
  fileprivate func withTexts(_ body: ([String]) -> Void) {
    var fault = false
    withUnsafeMutablePointer(to: &fault) { fault in
      let records = buffer.bytes.slice(BatchHeader.size, buffer.count - BatchHeader.size)
      var iterator = LogBatch.Iterator(
        records: records, count: count, offset: 0, distances: nil, baseTimestamp: baseTimestamp, fault: fault)
      var texts: [String] = []
      while let record = iterator.next() { texts.append(String(decoding: record.value, as: UTF8.self)) }
      body(texts)
    }
  }
}
