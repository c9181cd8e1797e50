import Bytes
import Dataflow
import Testing

@Suite struct AlignmentTests {
  private struct Setup {
    let store: TestStore
    let left = MemorySource<Int64>("left", partitions: 2)
    let right = MemorySource<Int64>("right")
    let sink = CollectSink<Int64>("out")
    let job: Job

    init(drift: Int64, idleness: Duration? = nil) throws {
      store = try TestStore()
      let (left, right, sink) = (left, right, sink)
      job = try Job("aligned") { flow in
        let strategy = WatermarkStrategy.boundedOutOfOrderness(idleness: idleness)
          .aligned("all", maximumDrift: .units(drift))
        flow.from(left, watermarks: strategy).union(flow.from(right, watermarks: strategy)).sink(sink)
      }
    }
  }

  /// The most that one partition was ahead of the slowest that had more to give, over the order in which records came.
  private func drift(_ seen: [Int64], partitions: Int) -> Int64 {
    // Records are partition × 1,000,000 + time; every partition has the times 0, 10, 20, …, 990.
    var next = [Int64](repeating: 0, count: partitions)
    var most: Int64 = 0
    for record in seen {
      let (partition, time) = (Int(record / 1_000_000), record % 1_000_000)
      let slowest = next.filter { $0 <= 990 }.min() ?? time
      most = max(most, time - slowest)
      next[partition] = time + 10
    }
    return most
  }

  @Test(arguments: 0..<8) func noPartitionRunsFurtherAheadThanAllowed(seed: UInt64) throws {
    print("seed \(seed)")
    let turns = Box(Random(seed + 1))
    let setup = try Setup(drift: 50)
    for step: Int64 in 0..<100 {
      setup.left.append(step * 10, at: .at(step * 10), partition: 0)
      setup.left.append(1_000_000 + step * 10, at: .at(step * 10), partition: 1)
      setup.right.append(2_000_000 + step * 10, at: .at(step * 10))
    }
    let batch = Int.random(in: 1...3, using: &turns.value)
    let driver = try JobDriver(
      setup.job, checkpoints: setup.store.checkpoints,
      options: RunOptions(mode: .drain, parallelism: [1, 2, 3][Int(seed % 3)], checkpoints: .atEnd, batchSize: batch)
    ) { Int.random(in: 0..<$0, using: &turns.value) }
    try driver.runUntilIdle()
    #expect(driver.isFinished)
    #expect(setup.sink.committed.count == 300)
    // One poll's records may go beyond: 10 apart, and one that begins at the limit.
    #expect(drift(setup.sink.seen, partitions: 3) <= 50 + Int64(batch) * 10 + 10)
  }

  @Test func aSilentPartitionStopsTheOthersUntilItsRecordsCome() throws {
    let setup = try Setup(drift: 50)
    setup.left.append(0, at: .at(0), partition: 1)
    setup.right.append(0, at: .at(0))
    for step: Int64 in 0..<100 { setup.left.append(step * 10, at: .at(step * 10), partition: 0) }
    let driver = try JobDriver(setup.job, checkpoints: setup.store.checkpoints, options: RunOptions(batchSize: 1))
    try driver.runUntilIdle()
    #expect(setup.sink.seen.count < 12)
    let report = driver.watermarkReport
    #expect(report.watermark == .at(-1))
    #expect(report.partitions.map(\.isPaused) == [true, false, false])
    #expect(report.culprits.map { "\($0.source)/\($0.partition)" } == ["left/1", "right/0"])
    setup.left.append(0, at: .at(2000), partition: 1)
    setup.right.append(0, at: .at(2000))
    try driver.runUntilIdle()
    #expect(setup.sink.seen.count == 104)
  }

  @Test func anIdlePartitionStopsNobody() throws {
    let clock = ManualClock()
    let setup = try Setup(drift: 50, idleness: .units(100))
    setup.left.append(0, at: .at(0), partition: 1)
    setup.right.append(0, at: .at(0))
    for step: Int64 in 0..<100 { setup.left.append(step * 10, at: .at(step * 10), partition: 0) }
    let driver = try JobDriver(
      setup.job, checkpoints: setup.store.checkpoints, options: RunOptions(batchSize: 1, clock: clock))
    try driver.runUntilIdle()
    #expect(setup.sink.seen.count < 12)
    clock.advance(by: .units(150))
    try driver.runUntilIdle()
    try driver.runUntilIdle()
    #expect(setup.sink.seen.count == 102)
    // The one that was paused had something to say: its silence did not make it idle.
    #expect(driver.watermarkReport.partitions.map(\.isIdle) == [false, true, true])
  }

  @Test func aPartitionWithoutAnyRecordStopsNobody() throws {
    let setup = try Setup(drift: 50)
    for step: Int64 in 0..<100 { setup.left.append(step * 10, at: .at(step * 10), partition: 0) }
    let driver = try JobDriver(setup.job, checkpoints: setup.store.checkpoints, options: RunOptions(batchSize: 1))
    try driver.runUntilIdle()
    #expect(setup.sink.seen.count == 100)
  }

  @Test(arguments: [1, 3]) func onThreadsItEndsToo(parallelism: Int) throws {
    let setup = try Setup(drift: 20)
    for step: Int64 in 0..<100 {
      setup.left.append(step * 10, at: .at(step * 10), partition: 0)
      setup.left.append(step * 10, at: .at(step * 10), partition: 1)
      setup.right.append(step * 10, at: .at(step * 10))
    }
    try JobRunner(
      setup.job, checkpoints: setup.store.checkpoints,
      options: RunOptions(mode: .drain, parallelism: parallelism, batchSize: 1)
    ).runBlocking()
    #expect(setup.sink.committed.count == 300)
  }

  @Test func theReportSaysSinceWhenAndWhy() throws {
    let clock = ManualClock(at: .at(1_000_000))
    let store = try TestStore()
    let source = MemorySource<Int64>("events", partitions: 3)
    let sink = CollectSink<Int64>("out")
    let job = try Job("job") { flow in flow.from(source).sink(sink) }
    for partition in 0..<2 { source.append(0, at: .at(100), partition: partition) }
    source.append(0, at: .at(40), partition: 2)
    let driver = try JobDriver(job, checkpoints: store.checkpoints, options: RunOptions(clock: clock))
    try driver.runUntilIdle()
    clock.advance(by: .seconds(5))
    source.append(0, at: .at(200))
    try driver.runUntilIdle()
    clock.advance(by: .seconds(2))
    let report = driver.watermarkReport
    #expect(report.watermark == .at(39))
    #expect(report.partitions.map(\.watermark) == [.at(199), .at(99), .at(39)])
    #expect(report.partitions.map(\.latestRecord) == [.at(200), .at(100), .at(40)])
    #expect(report.partitions.map(\.unmovedFor) == [.seconds(2), .seconds(7), .seconds(7)])
    #expect(report.partitions.map(\.unmovedSince) == [.at(6_000_000), .at(1_000_000), .at(1_000_000)])
    #expect(report.culprits.map(\.partition) == [2])
    #expect(report.description.contains("partition 2 of events: unmoved for 7 s, its latest record is of 40"))
  }
}
