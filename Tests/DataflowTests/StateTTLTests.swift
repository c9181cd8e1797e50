import Bytes
import Dataflow
import LMDB
import Tables
import Testing

@Suite struct StateTTLTests {
  /// Writes or reads the key's states at a time.
  struct Touch: Sendable {
    var key: String
    var entry: String = ""
    var writes: Bool
    var time: Int64
  }

  /// Emits what a record sees: its key's value and how many entries of map and list.
  static func job(_ source: MemorySource<Touch>, _ sink: CollectSink<String>, _ ttl: StateTTL, disorder: Int64 = 1000)
    throws -> Job
  {
    try Job("ttl") { flow in
      flow.from(source, watermarks: .boundedOutOfOrderness(.units(disorder))).keyed(by: \.key).process(
        "op",
        with: { parts in
          (
            value: parts.value("value", of: Int64.self, ttl: ttl),
            map: parts.map("map", String.self, Int64.self, ttl: ttl),
            list: parts.list("list", of: Int64.self, ttl: ttl)
          )
        }, emitting: String.self,
        onRecord: { touch, parts, call in
          call.emit(
            "\(touch.key)@\(touch.time): \(parts.value.value ?? -1) "
              + "\(try parts.map.elements().map { "\($0.key)=\($0.value)" }) \(try parts.list.elements())")
          if touch.writes {
            parts.value.value = touch.time
            try parts.map.set(touch.time, for: touch.entry)
            try parts.list.append(touch.time)
          }
        }
      ).sink(sink)
    }
  }

  /// The rows of a state's table.
  static func rows(of state: String, in store: TestStore) throws -> Int {
    let job = try #require(try store.checkpoints.job("ttl"))
    let table = try #require(job.states.first { $0.declaration.name == state }?.table)
    return try store.checkpoints.environment.read { transaction in
      let reader = try store.checkpoints.tables.reader(TableID(value: table), in: transaction)
      var count = 0
      try reader.forEach(in: transaction) { _, _ in
        count += 1
        return true
      }
      return count
    }
  }

  /// Written at t, visible at u iff u < t + ttl: whatever the order, where nothing is late.
  @Test(arguments: 0..<10) func whatIsVisibleDependsOnEventTimeAlone(seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 77)
    let store = try TestStore()
    let source = MemorySource<Touch>("touches")
    let sink = CollectSink<String>("out")
    var value: [String: Int64] = [:]
    var map: [String: [String: Int64]] = [:]
    var list: [String: [Int64]] = [:]
    var expected: [String] = []
    for _ in 0..<300 {
      let touch = Touch(
        key: "k\(Int.random(in: 0..<4, using: &random))", entry: "e\(Int.random(in: 0..<5, using: &random))",
        writes: Bool.random(using: &random), time: Int64.random(in: 0...200, using: &random))
      source.append(touch, at: .at(touch.time))
      let isVisible = { (written: Int64) in touch.time < written + 20 }
      let entries = (map[touch.key] ?? [:]).filter { isVisible($0.value) }.sorted { $0.key < $1.key }
      expected.append(
        "\(touch.key)@\(touch.time): \(value[touch.key].flatMap { isVisible($0) ? $0 : nil } ?? -1) "
          + "\(entries.map { "\($0.key)=\($0.value)" }) \((list[touch.key] ?? []).filter(isVisible))")
      if touch.writes {
        value[touch.key] = touch.time
        map[touch.key, default: [:]][touch.entry] = touch.time
        list[touch.key, default: []].append(touch.time)
      }
    }
    try disturb(try Self.job(source, sink, .eventTime(.units(20))), store, &random)
    #expect(sink.committed.sorted() == expected.sorted())
  }

  /// Behind the watermark, what it has passed is gone, swept out already or not.
  @Test func aLateRecordDoesNotSeeWhatTheWatermarkHasPassed() throws {
    for (lateness, seen) in [(Int64(0), "-1"), (10, "0")] {
      let store = try TestStore()
      let source = MemorySource<Touch>("touches")
      let sink = CollectSink<String>("out")
      source.append(Touch(key: "a", writes: true, time: 0), at: .at(0))
      source.append(Touch(key: "b", writes: false, time: 12), at: .at(12))
      source.append(Touch(key: "a", writes: false, time: 5), at: .at(5))
      let job = try Self.job(source, sink, .eventTime(.units(10), lateness: .units(lateness)), disorder: 0)
      try JobRunner(
        job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, batchSize: 1)
      ).runBlocking()
      #expect(sink.committed.last?.hasPrefix("a@5: \(seen) ") == true, "\(sink.committed)")
    }
  }

  @Test(arguments: [1, 3]) func expiredStateIsSweptOutThoughNobodyReadsIt(parallelism: Int) throws {
    let store = try TestStore()
    let source = MemorySource<Touch>("touches")
    let sink = CollectSink<String>("out")
    for index in 0..<3_000 {
      source.append(Touch(key: "k\(index)", entry: "e", writes: true, time: 1), at: .at(1))
    }
    let job = try Self.job(source, sink, .eventTime(.units(50)), disorder: 0)
    let options = RunOptions(
      mode: .toEnd, parallelism: parallelism, checkpoints: .everyRecords(100), batchSize: 100, stateMemory: 1)
    try JobRunner(job, checkpoints: store.checkpoints, options: options).runBlocking()
    #expect(try Self.rows(of: "op/value", in: store) == 3_000)
    // Later nobody comes to those keys again.
    for index in 0..<20 {
      source.append(Touch(key: "x", writes: false, time: 100), at: .at(Int64(100 + index)))
      try JobRunner(job, checkpoints: store.checkpoints, options: options).runBlocking()
    }
    for state in ["op/value", "op/map", "op/list", "op/list/bounds"] {
      #expect(try Self.rows(of: state, in: store) == 0, "\(state)")
    }
  }

  @Test func processingTimeCountsDowntimeAndNeverFalls() throws {
    let store = try TestStore()
    let source = MemorySource<Touch>("touches")
    let sink = CollectSink<String>("out")
    let job = try Self.job(source, sink, .processingTime(.units(10)))
    func run(_ clock: ManualClock, _ touch: Touch) throws -> String {
      source.append(touch, at: .at(0))
      try JobRunner(
        job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, clock: clock)
      ).runBlocking()
      return sink.committed.last.map { String($0.split(separator: " ")[1]) } ?? ""
    }
    #expect(try run(ManualClock(at: .at(100)), Touch(key: "a", writes: true, time: 1)) == "-1")
    #expect(try run(ManualClock(at: .at(109)), Touch(key: "a", writes: false, time: 2)) == "1")
    // The clock of the machine was set back: time stands still until it has caught up.
    #expect(try run(ManualClock(at: .at(50)), Touch(key: "a", writes: false, time: 3)) == "1")
    #expect(try run(ManualClock(at: .at(110)), Touch(key: "a", writes: false, time: 4)) == "-1")
  }

  @Test func aTimeToLiveIsPartOfTheStatesKind() throws {
    let store = try TestStore()
    let source = MemorySource<Touch>("touches")
    let sink = CollectSink<String>("out")
    source.append(Touch(key: "a", writes: true, time: 1), at: .at(1))
    func job(_ ttl: StateTTL?) throws -> Job {
      try Job("ttl") { flow in
        flow.from(source).keyed(by: \.key).process(
          "op", with: { $0.value("value", of: Int64.self, ttl: ttl) }, emitting: String.self,
          onRecord: { _, value, _ in value.value = 1 }
        ).sink(sink)
      }
    }
    try JobRunner(try job(nil), checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    let other = JobRunner(
      try job(.eventTime(.units(1))), checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    #expect { try other.runBlocking() } throws: { ($0 as? DataflowError)?.code == .stateMismatch }
  }
}
