import Bytes
import Testing

@testable import EventLog

/// Random steps on a topic of changing durability, beside a list of what was acknowledged; killed, and crashed with any
/// damage to the journal.
@Suite struct DurabilityPropertyTests {
  @Test(arguments: 0..<6) func crashesLeaveAPrefixWithAllThatWasSynced(round: Int) throws {
    let seed = UInt64.random(in: 0..<1 << 32)
    print("DurabilityPropertyTests: seed \(seed)")
    var run = try Run(seed: seed)
    for _ in 0..<120 { try run.step() }
    try run.kill()
    run.log.close()
  }

  /// The log under test and its model.
  private struct Run {
    static let producer = ProducerID(id: 9, epoch: 0)
    let seed: UInt64
    var random: SeededGenerator
    var directory = TemporaryDirectory()
    var timer = DelayList()
    var log: EventLog
    var topic: LogTopic
    /// In order of their acknowledgement; `isProduced`: by the idempotent producer, in partition 0.
    var acknowledged: [(partition: Int, value: String, isProduced: Bool)] = []
    /// How many of them are certainly synced.
    var synced = 0
    var number = 0

    init(seed: UInt64) throws {
      self.seed = seed
      random = SeededGenerator(seed: seed)
      log = try Self.open(directory, timer)
      topic = try log.topic("t", TopicOptions(partitions: 2, durability: .system))
    }

    static func open(_ directory: TemporaryDirectory, _ timer: DelayList) throws -> EventLog {
      var options = LogOptions(commitBytes: 6000)
      options.timer = timer
      return try EventLog.open(at: directory.path, options)
    }

    mutating func value() -> String {
      number += 1
      return "\(number)"
        + String(repeating: "-", count: Int.random(in: 0..<(number % 9 == 0 ? 7000 : 300), using: &random))
    }

    mutating func step() throws {
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<8:
        let (partition, value) = (Int.random(in: 0..<2, using: &random), value())
        let position = try topic.appendBlocking(
          key: nil, value: Array(value.utf8), timestamp: .min, partition: partition)
        #expect(position.offset == Int64(acknowledged.count { $0.partition == partition }), "seed \(seed)")
        acknowledged.append((partition, value, false))
      case 8..<12: try produce()
      case 12:
        try topic.flushBlocking()
        try settled()
      case 13:
        try topic.sealBlocking()
        try settled()
      case 14:
        try log.maintainBlocking()
        try settled()
      case 15:
        try topic.settle()
        timer.pass()
        try topic.settle()
        try settled()
      case 16:
        let all: [Durability] = [.synced, .interval(.seconds(1)), .system]
        let durability = all[Int.random(in: 0..<3, using: &random)]
        try log.setOptions(of: "t") { $0.durability = durability }
      case 17: try kill()
      default: try crash()
      }
    }

    /// Everything must be readable now.
    private mutating func settled() throws {
      synced = acknowledged.count
      try check(found(topic), acknowledged.count)
    }

    /// A batch of the idempotent producer that may repeat what is there.
    private mutating func produce() throws {
      let known = acknowledged.filter(\.isProduced).map(\.value)
      let again = Int.random(in: 0...min(3, known.count), using: &random)
      let new = (0..<Int.random(in: 0...2, using: &random)).map { _ in value() }
      let values = known.suffix(again) + new
      if values.isEmpty { return }
      let result = try topic.appendIdempotentBlocking(
        values.map { record($0) }, partition: 0, producer: Self.producer, sequence: Int64(known.count - again))
      #expect(result.repeated == again, "seed \(seed)")
      acknowledged += new.map { (0, $0, true) }
    }

    /// The process ends; everything acknowledged is there in the next.
    mutating func kill() throws {
      try reopen { _ in }
      try topic.flushBlocking()
      #expect((topic.recovery?.lostRecords ?? 0) == 0)
      try check(found(topic), acknowledged.count)
      synced = acknowledged.count
    }

    /// The machine ends, and with it any part of the journal.
    private mutating func crash() throws {
      var generator = random
      try reopen { directory in
        var journal = Files.read(directory.path + "/t/journal")
        if journal.isEmpty { return }
        let place = Int.random(in: 0..<journal.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: journal.removeLast(journal.count - place)
        case 1:
          journal.replaceSubrange(
            place..<min(journal.count, place + 4096), with: repeatElement(0, count: min(4096, journal.count - place)))
        default: journal[place] ^= 1
        }
        Files.write(directory.path + "/t/journal", journal)
      }
      random = generator
      try topic.flushBlocking()
      let found = try found(topic)
      let count = found.reduce(0) { $0 + $1.count }
      #expect(count >= synced && count <= acknowledged.count, "seed \(seed)")
      check(found, count)
      acknowledged.removeLast(acknowledged.count - count)
      synced = count
    }

    private mutating func reopen(_ change: (TemporaryDirectory) throws -> Void) throws {
      let copy = directory.copy()
      log.close()
      try change(copy)
      directory = copy
      timer = DelayList()
      log = try Self.open(copy, timer)
      topic = try log.topic("t")
    }

    private func found(_ topic: LogTopic) throws -> [[String]] { try (0..<2).map { try topic.values($0) } }

    private func check(_ found: [[String]], _ count: Int) {
      for partition in 0..<2 {
        let expected = acknowledged.prefix(count).filter { $0.partition == partition }.map(\.value)
        #expect(found[partition] == expected, "seed \(seed)")
      }
    }
  }
}
