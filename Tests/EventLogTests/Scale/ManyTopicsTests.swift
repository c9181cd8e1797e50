import Bytes
import Glibc
import LMDB
import Synchronization
import Testing

@testable import EventLog

/// Many topics, many partitions: what is open stays bounded, and nobody notices that files come and go.
@Suite struct ManyTopicsTests {
  let directory = TemporaryDirectory()

  /// How many files below the directory this process has open.
  private func openFiles() -> Int {
    LogFiles.names(in: "/proc/self/fd").count { name in
      var target = [CChar](repeating: 0, count: 4096)
      let count = readlink("/proc/self/fd/" + name, &target, target.count - 1)
      return count > 0
        && String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
          .hasPrefix(directory.path)
    }
  }

  @Test func filesAndThreadsOfManyTopicsStayBounded() async throws {
    let count = 120
    let options = LogOptions(maximumOpenSegments: 8)
    // Three descriptors for each open segment, those of the catalogue and the lock.
    let most = 8 * 3 + 4
    do {
      let log = try EventLog.open(at: directory.path, options)
      for number in 0..<count { _ = try log.topic("topic-\(number)", TopicOptions()) }
      #expect(openFiles() <= most)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count {
          let topic = try log.topic("topic-\(number)")
          group.addTask {
            for value in 0..<3 {
              _ = try await topic.append(key: nil, value: [UInt8(value)], timestamp: .min)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(log.core.pool.count <= 8)
      #expect(openFiles() <= most)
      #expect(log.core.writers.count <= WriterThreads.most)
      #expect(try log.describe().allSatisfy { $0.records == 3 })
    }
    #expect(openFiles() == 0)
    let log = try EventLog.open(at: directory.path, options)
    // Nothing is opened before it is used.
    #expect(log.core.pool.count == 0)
    for number in 0..<count {
      let topic = try log.topic("topic-\(number)")
      #expect(try topic.put("again").offset == 3)
      #expect(try topic.all().map(\.offset) == [0, 1, 2, 3])
    }
    #expect(openFiles() <= most)
    #expect(try log.verify().isSound)
  }

  @Test func aTopicThatWasLetGoOfGoesOnWhereItWas() throws {
    let log = try EventLog.open(at: directory.path, LogOptions(maximumOpenSegments: 1))
    let names = ["a", "b", "c"]
    for name in names { _ = try log.topic(name, TopicOptions(partitions: 2)) }
    for round in 0..<4 {
      for name in names {
        let topic = try log.topic(name)
        let position = try topic.appendBlocking(key: nil, value: [UInt8(round)], timestamp: .min, partition: 1)
        #expect(position.offset == Int64(round * 3))
        let result = try topic.appendIdempotentBlocking(
          [record("x"), record("y")], partition: 1, producer: ProducerID(id: 7, epoch: 0), sequence: Int64(round * 2))
        #expect(result.repeated == 0)
        #expect(
          try topic.appendIdempotentBlocking(
            [record("x"), record("y")], partition: 1, producer: ProducerID(id: 7, epoch: 0),
            sequence: Int64(round * 2)
          ).repeated == 2)
        if round == 2 { try topic.sealBlocking() }
      }
    }
    for name in names { #expect(try log.topic(name).all(1).count == 12) }
    #expect(log.core.pool.count == 1)
    #expect(try log.verify().isSound)
  }

  @Test func whoWroteToALiveSegmentBehindTheWritersBackIsNoticed() throws {
    let log = try EventLog.open(at: directory.path, LogOptions(maximumOpenSegments: 1))
    let topic = try log.topic("a", TopicOptions())
    let other = try log.topic("b", TopicOptions())
    for _ in 0..<3 { try topic.put("x") }
    let path = try topic.describe().segments[0].path
    try other.put("y")
    do {
      let environment = try Environment.open(
        at: path, Environment.Options(mapSize: topic.state.mapBytes, databases: SegmentFile.databases))
      let batches = try environment.database("batches")
      let key = BatchKey(sequence: 2, partition: 0, offset: 2)
      _ = try environment.write { transaction in try key.withBytes { try transaction.delete(batches, key: $0) } }
    }
    #expect(failure { try topic.put("z") }?.code == .damaged)
  }

  @Test func readersAndWritersOfManyTopicsShareFewFiles() throws {
    let (generator, seed) = SeededGenerator.fresh("many topics, few files")
    var random = generator
    let log = try EventLog.open(at: directory.path, LogOptions(maximumOpenSegments: 3))
    let topics = try (0..<12).map { try log.topic("t\($0)", TopicOptions(partitions: 1)) }
    let done = Atomic<Int>(0)
    let failures = Mutex<[String]>([])
    let ended = Semaphore()
    for (number, topic) in topics.enumerated() {
      let own = random.next()
      OSThread.start(name: "appender") {
        var random = SeededGenerator(seed: own)
        do {
          for value in 0..<40 {
            try topic.put("\(value)")
            if Int.random(in: 0..<10, using: &random) == 0 { try topic.sealBlocking() }
          }
        } catch {
          failures.withLock { $0.append("topic \(number): \(error)") }
        }
        done.add(1, ordering: .relaxed)
        ended.signal()
      }
    }
    while done.load(ordering: .relaxed) < topics.count {
      let topic = topics[Int.random(in: 0..<topics.count, using: &random)]
      let values = try topic.values()
      #expect(values == (0..<values.count).map(String.init), "seed \(seed)")
    }
    for _ in topics { ended.wait() }
    #expect(failures.withLock { $0 } == [], "seed \(seed)")
    for topic in topics { #expect(try topic.values() == (0..<40).map(String.init), "seed \(seed)") }
    #expect(try log.verify().isSound)
  }

  @Test func aThousandPartitionsShareOneSegment() throws {
    let count = 1000
    do {
      let log = try EventLog.open(at: directory.path)
      let topic = try log.topic("wide", TopicOptions(partitions: count))
      for round in 0..<2 as Range<UInt8> {
        let values = [round]
        for partition in 0..<count {
          try values.withUnsafeBytes {
            _ = try topic.enqueue(key: nil, value: $0, timestamp: .min, partition: partition)
          }
        }
        try topic.flushBlocking()
      }
      try topic.sealBlocking()
    }
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("wide")
    #expect(try topic.offsets() == Array(repeating: 0..<2, count: count))
    var next = [Int64](repeating: 0, count: count)
    let reader = try topic.reader(from: Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, 0) }))
    try reader.read(maxBytes: .max) { batch in
      #expect(batch.firstOffset == next[batch.partition])
      next[batch.partition] = batch.lastOffset + 1
    }
    #expect(next == Array(repeating: 2, count: count))
    #expect(openFiles() < 16)
  }
}
