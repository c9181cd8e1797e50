import Bytes
import Testing

@testable import EventLog

/// Appends, rolls, reads, retention, restarts and crashes in random order, against plain arrays.
@Suite struct PropertyTests {
  struct Model {
    /// Per partition everything ever appended.
    var records: [[NewRecord]]
    var starts: [Int64]
  }

  static let partitions = 3

  @Test(arguments: 0..<4) func theLogIsAnArrayPerPartition(round: UInt64) throws {
    var (random, seed) = SeededGenerator.fresh("PropertyTests")
    random = SeededGenerator(seed: seed &+ round)
    let clock = TestClock()
    var directory = TemporaryDirectory()
    let options = TopicOptions(partitions: Self.partitions, segmentBytes: 1 << 20, retentionAge: .seconds(100))
    var model = Model(
      records: Array(repeating: [], count: Self.partitions), starts: Array(repeating: 0, count: Self.partitions))
    func open(_ path: String) throws -> EventLog {
      try EventLog.open(
        at: path, LogOptions(batchBytes: 2048, commitBytes: 8192, maximumOpenSegments: 2, clock: clock.read))
    }
    var log = try open(directory.path)
    var topic = try log.topic("t", options)
    for step in 0..<60 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<5:
        let batch = (0..<Int.random(in: 1...40, using: &random)).map { _ in Self.randomRecord(&random) }
        for (record, position) in zip(batch, try topic.appendBlocking(contentsOf: batch)) {
          #expect(position.offset == Int64(model.records[position.partition].count), "seed \(seed) step \(step)")
          model.records[position.partition].append(record)
        }
      case 5:
        let record = Self.randomRecord(&random)
        let position = try topic.appendBlocking(
          key: record.key, value: record.value, timestamp: record.timestamp, headers: record.headers)
        model.records[position.partition].append(record)
      case 6: try topic.sealBlocking()
      case 7:
        clock.advance(seconds: Int64.random(in: 0...80, using: &random))
        try log.maintainBlocking()
        for partition in 0..<Self.partitions {
          let start = try topic.startOffset(partition)
          #expect(start >= model.starts[partition], "seed \(seed) step \(step)")
          model.starts[partition] = start
        }
      case 8:
        log.close()
        log = try open(directory.path)
        topic = try log.topic("t")
      case 9:
        // A crash: what is on disk is all there is.
        let crashed = directory.copy()
        log.close()
        directory = crashed
        log = try open(directory.path)
        topic = try log.topic("t")
      default: break
      }
      try check(topic, model, &random, "seed \(seed) round \(round) step \(step)")
    }
    #expect(try log.verify().isSound, "seed \(seed)")
    log.close()
  }

  private func check(_ topic: LogTopic, _ model: Model, _ random: inout SeededGenerator, _ place: String) throws {
    let partition = Int.random(in: 0..<Self.partitions, using: &random)
    let start = try topic.startOffset(partition)
    let end = Int64(model.records[partition].count)
    // A roll removes what is old, too: the start may have moved since the model looked.
    #expect(start >= model.starts[partition], "\(place)")
    #expect(try topic.endOffset(partition) == end, "\(place)")
    let from = Int64.random(in: start...end, using: &random)
    let found = try topic.reader(partition: partition, from: from).drain(
      maxBytes: Int.random(in: 1...5000, using: &random))
    let expected = Array(model.records[partition][Int(from)...])
    #expect(found.map(\.value) == expected.map(\.value), "\(place)")
    #expect(found.map(\.key) == expected.map(\.key), "\(place)")
    #expect(found.map(\.timestamp) == expected.map(\.timestamp), "\(place)")
    #expect(found.map(\.headers) == expected.map(\.headers), "\(place)")
    #expect(found.map(\.offset) == Array(from..<end), "\(place)")
    if start > 0 {
      let error = failure {
        _ = try topic.reader(partition: partition, from: Int64.random(in: 0..<start, using: &random))
      }
      #expect(error?.validRange == start..<end, "\(place)")
    }
  }

  static func randomRecord(_ random: inout SeededGenerator) -> NewRecord {
    let keyCount = [0, 1, 5, 16, 300, 10_240][Int.random(in: 0..<6, using: &random)]
    let valueCount = [0, 1, 10, 100, 5000][Int.random(in: 0..<5, using: &random)]
    let time = [Int64.min, .max, 0, Int64.random(in: -10_000_000...10_000_000, using: &random)]
    return NewRecord(
      key: Int.random(in: 0..<5, using: &random) == 0
        ? nil : (0..<keyCount).map { _ in UInt8.random(in: 0...255, using: &random) },
      value: (0..<valueCount).map { _ in UInt8.random(in: 0...255, using: &random) },
      timestamp: Timestamp(microseconds: time[Int.random(in: 0..<4, using: &random)]),
      headers: Int.random(in: 0..<6, using: &random) == 0 ? [LogHeader("h", [1, 2])] : [])
  }
}
