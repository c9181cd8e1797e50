import Bytes
import Glibc
import Synchronization
import Testing

@testable import EventLog

/// Random keys, tombstones, sizes, restarts, readers and crashes against `CompactionModel`.
@Suite struct CompactionModelTests {
  static let delay = Duration.seconds(100)

  /// A topic, its model, and what is done to both.
  final class Run {
    var random: SeededGenerator
    let seed: UInt64
    let clock = TestClock()
    let directory = TemporaryDirectory()
    let partitions: Int
    let keys: Int
    var model: CompactionModel
    var options: LogOptions
    var log: EventLog
    var topic: LogTopic

    init(_ name: String, round: UInt64) throws {
      let (_, fresh) = SeededGenerator.fresh(name)
      seed = fresh &+ round
      random = SeededGenerator(seed: seed)
      partitions = [1, 2, 5][Int.random(in: 0..<3, using: &random)]
      keys = [3, 40, 1000][Int.random(in: 0..<3, using: &random)]
      model = CompactionModel(partitions: partitions)
      let bytes = [12_000, 100_000, 64 << 20][Int.random(in: 0..<3, using: &random)]
      options = LogOptions(
        batchBytes: [1024, 20_000][Int.random(in: 0..<2, using: &random)], maximumOpenSegments: 2,
        compactionBytes: bytes, clock: clock.read)
      log = try EventLog.open(at: directory.path, options)
      topic = try log.topic(
        "t",
        TopicOptions(
          partitions: partitions, segmentBytes: [1 << 20, 4 << 20][Int.random(in: 0..<2, using: &random)],
          compression: Bool.random(using: &random) ? .zstd(level: 1) : .none,
          compaction: Compaction(tombstoneDelay: delay)))
    }

    var place: String { "seed \(seed)" }

    func append() throws {
      let records = (0..<Int.random(in: 1...60, using: &random)).map { _ in
        CompactionModel.randomRecord(&random, keys: keys)
      }
      for (record, position) in zip(records, try topic.appendBlocking(contentsOf: records)) {
        model.append(record, at: position)
      }
    }

    func seal() throws {
      try topic.sealBlocking()
      model.seal()
    }

    func fill(_ steps: Int) throws {
      for _ in 0..<steps {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: try seal()
        case 1: clock.advance(seconds: Int64.random(in: 0...60, using: &random))
        default: try append()
        }
      }
    }

    func reopen(_ options: LogOptions? = nil) throws {
      log.close()
      log = try EventLog.open(at: directory.path, options ?? self.options)
      topic = try log.topic("t")
    }
  }

  @Test(arguments: 0..<5) func theLatestOfEachKeyStaysWhereItWas(round: UInt64) throws {
    let run = try Run("CompactionModelTests.latest", round: round)
    for step in 0..<4 {
      try run.fill(12)
      let before = run.model
      let expired = run.model.compact(now: run.clock.now, delay: CompactionModelTests.delay)
      let result = try run.topic.compactBlocking()
      try run.model.check(run.topic, "\(run.place), step \(step)")
      let removed = zip(before.partitions, run.model.partitions).reduce(0) { $0 + $1.0.count - $1.1.count }
      #expect(result.recordsRemoved == Int64(removed), "\(run.place)")
      // In several passes a tombstone may go by its age that in one would have been followed by another record.
      #expect(
        result.passes > 1 ? result.tombstonesRemoved >= expired : result.tombstonesRemoved == expired, "\(run.place)")
      try checkTimes(run)
      if step == 2 { try run.reopen() }
    }
    // Nothing is left to do.
    #expect(try run.topic.compactBlocking().passes == 0)
    try run.reopen()
    try run.model.check(run.topic, run.place)
  }

  private func checkTimes(_ run: Run) throws {
    for partition in 0..<run.partitions {
      let entries = run.model.partitions[partition]
      for wanted in [.min, 0, .max] + (0..<5).map({ _ in Int64.random(in: 0..<1 << 40, using: &run.random) }) {
        let expected = entries.first { $0.timestamp.microseconds >= wanted }?.offset
        let found = try run.topic.offset(forTimestamp: Timestamp(microseconds: wanted), partition: partition)
        #expect(found == expected, "\(run.place), time \(wanted)")
      }
      // Any offset of the range can be read from, also one that was compacted away.
      let from = Int64.random(in: 0...run.model.ends[partition], using: &run.random)
      let found = try run.topic.reader(partition: partition, from: from).drain(
        maxBytes: Int.random(in: 1...100_000, using: &run.random))
      #expect(found.map(\.offset) == entries.map(\.offset).filter { $0 >= from }, "\(run.place), from \(from)")
    }
  }

  @Test(arguments: 0..<2) func aCrashAtAnyStepLeavesTheOldOrTheNew(round: UInt64) throws {
    let run = try Run("CompactionModelTests.crash", round: round)
    try run.fill(30)
    try run.seal()
    try run.append()
    let before = run.model
    run.model.compact(now: run.clock.now, delay: CompactionModelTests.delay)
    // Of each step the first times, and some of the others: there may be hundreds.
    let images = Mutex<(taken: [(CompactionStep, TemporaryDirectory)], chance: SeededGenerator)>(([], run.random))
    let directory = run.directory
    var options = run.options
    options.onCompactionStep = { step in
      let isTaken = images.withLock { images in
        let chance = Int.random(in: 0..<40, using: &images.chance)
        return images.taken.count { $0.0 == step } < 2 || (chance == 0 && images.taken.count < 30)
      }
      if !isTaken { return }
      let image = directory.copy()
      images.withLock { $0.taken.append((step, image)) }
    }
    try run.reopen(options)
    try run.topic.compactBlocking()
    try run.model.check(run.topic, run.place)
    let found = images.withLock { $0.taken }
    #expect(Set(found.map(\.0)).count == CompactionStep.allCases.count, "\(run.place)")
    for (number, (step, image)) in found.enumerated() {
      let place = "\(run.place), image \(number) at \(step)"
      let log = try EventLog.open(at: image.path, run.options)
      let topic = try log.topic("t")
      #expect(try log.verify().damages == [], "\(place)")
      for partition in 0..<run.partitions {
        CompactionModel.checkBetween(
          try topic.all(partition), before.partitions[partition], run.model.partitions[partition], place)
      }
      let files = Set(LogFiles.names(in: image.path + "/t").filter { $0.hasSuffix(".mdb") })
      #expect(files == Set(try topic.describe().segments.map { LogFiles.segmentName($0.number) }), "\(place)")
      try topic.compactBlocking()
      try run.model.check(topic, place)
      log.close()
    }
  }

  @Test(arguments: 0..<4) func anErrorAtAnyStepLeavesTheLogAsItWas(round: UInt64) throws {
    let run = try Run("CompactionModelTests.error", round: round)
    let countdown = Atomic<Int>(-1)
    var options = run.options
    options.onCompactionStep = { _ in
      if countdown.subtract(1, ordering: .relaxed).oldValue == 0 { throw CompactionInterrupted() }
    }
    try run.reopen(options)
    try run.fill(20)
    try run.seal()
    let before = run.model
    run.model.compact(now: run.clock.now, delay: CompactionModelTests.delay)
    for step in 0..<200 {
      countdown.store(step, ordering: .relaxed)
      do {
        try run.topic.compactBlocking()
        break
      } catch is CompactionInterrupted {
        #expect(step < 199)
      }
      for partition in 0..<run.partitions {
        CompactionModel.checkBetween(
          try run.topic.all(partition), before.partitions[partition], run.model.partitions[partition], run.place)
      }
    }
    try run.model.check(run.topic, run.place)
    try run.append()
    try run.model.check(run.topic, run.place)
  }

  @Test(arguments: 0..<4) func readersAndAppendersGoOnMeanwhile(round: UInt64) throws {
    let run = try Run("CompactionModelTests.readers", round: round)
    try run.fill(40)
    try run.seal()
    let before = run.model
    var after = before
    after.compact(now: run.clock.now, delay: CompactionModelTests.delay)
    // One reader of each kind stands in the middle; both handles see the same files.
    let elsewhere = try EventLog.open(at: run.directory.path, LogOptions(access: .readOnly, maximumOpenSegments: 1))
    let topics = [run.topic, try elsewhere.topic("t")]
    var cases: [(reader: LogReader, partition: Int, from: Int64, found: [OwnedRecord])] = []
    for topic in topics {
      for partition in 0..<run.partitions {
        for _ in 0..<3 {
          let from = Int64.random(in: 0...before.ends[partition], using: &run.random)
          cases.append((try topic.reader(partition: partition, from: from), partition, from, []))
        }
      }
    }
    // All of them take a step at each of the compaction's.
    final class Steps: @unchecked Sendable { var step: () throws -> Void = {} }
    let steps = Steps()
    steps.step = {
      for index in cases.indices {
        try cases[index].reader.read(maxBytes: 1) { batch in
          for record in batch { cases[index].found.append(OwnedRecord(copying: record, partition: batch.partition)) }
        }
      }
      _ = try run.topic.put("beside", key: "beside")
    }
    var options = run.options
    options.onCompactionStep = { _ in try steps.step() }
    run.log.close()
    let log = try EventLog.open(at: run.directory.path, options)
    let topic = try log.topic("t")
    run.log = log
    run.topic = topic
    for index in cases.indices where index < cases.count / 2 {
      cases[index].reader = try topic.reader(partition: cases[index].partition, from: cases[index].from)
    }
    try topic.compactBlocking()
    for index in cases.indices {
      cases[index].found += try cases[index].reader.drain()
      let (_, partition, from, found) = cases[index]
      let old = found.filter { $0.offset < before.ends[partition] }
      CompactionModel.checkBetween(
        old, before.partitions[partition].filter { $0.offset >= from }, after.partitions[partition], from: from,
        run.place)
      let new = try topic.reader(partition: partition, from: before.ends[partition]).drain()
      #expect(found.filter { $0.offset >= before.ends[partition] } == new, "\(run.place)")
    }
  }
}
