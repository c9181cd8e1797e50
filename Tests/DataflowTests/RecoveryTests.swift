import Bytes
import Dataflow
import Testing

@Suite struct RecoveryTests {
  private let source = MemorySource<Int64>("numbers")
  private let sink = CollectSink<Int64>("out")

  private func job() throws -> Job {
    let (source, sink) = (source, sink)
    return try Job("job") { flow in
      flow.from(source).keyed(by: { $0 % 3 }).fold("sum", initial: Int64(0)) { $0 += $1 }.map { $0 }.sink(sink)
    }
  }

  @Test func aBoundedRunWithoutPeriodicCheckpointsCommitsEverything() throws {
    let store = try TestStore()
    for number in 1...10 { source.append(Int64(number), at: .at(0)) }
    let options = RunOptions(mode: .toEnd, checkpoints: .atEnd, batchSize: 3)
    let driver = try JobDriver(try job(), checkpoints: store.checkpoints, options: options)
    // Everything but the last checkpoint, then gone.
    while sink.seen.count < 10 { try driver.step() }
    driver.crash()
    #expect(sink.committed == [])
    let second = try JobDriver(try job(), checkpoints: store.checkpoints, options: options)
    try second.runUntilIdle()
    #expect(second.isFinished)
    #expect(sink.committed.count == 10)
    #expect(sink.seen.count == 20)
  }

  @Test func eachOutputOnceAfterTwoCrashes() throws {
    let store = try TestStore()
    for number in 1...12 { source.append(Int64(number), at: .at(0)) }
    let options = RunOptions(checkpoints: .everyRecords(5), batchSize: 1)
    for _ in 0..<2 {
      let driver = try JobDriver(try job(), checkpoints: store.checkpoints, options: options)
      let before = sink.seen.count
      while sink.seen.count < before + 4 { try driver.step() }
      driver.crash()
    }
    let driver = try JobDriver(try job(), checkpoints: store.checkpoints, options: options)
    try driver.runUntilIdle()
    try driver.stop()
    #expect(sink.committed == [1, 2, 3, 5, 7, 9, 12, 15, 18, 22, 26, 30])
  }

  @Test func aCrashBetweenBarrierAndCommitLosesNothing() throws {
    let store = try TestStore()
    for number in 1...6 { source.append(Int64(number), at: .at(0)) }
    // Every number of steps before the crash.
    for steps in 0..<16 {
      let driver = try JobDriver(
        try job(), checkpoints: store.checkpoints, options: RunOptions(checkpoints: .everyRecords(2), batchSize: 1))
      for _ in 0..<steps { try driver.step() }
      driver.crash()
      let record = try #require(try store.checkpoints.job("job"))
      #expect(record.sources["numbers"]?.first?.position ?? 0 == Int64(sink.committed.count))
    }
    try JobRunner(
      try job(), checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)
    ).runBlocking()
    #expect(sink.committed == [1, 2, 3, 5, 7, 9])
  }

  @Test func positionsAreDurableBeforeTheyAreCommitted() throws {
    let store = try TestStore()
    for number in 1...6 { source.append(Int64(number), at: .at(0)) }
    try JobRunner(try job(), checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    #expect(source.durablePositions == [6])
  }

  @Test func aPositionBeyondTheSourcesEndIsAnError() throws {
    let store = try TestStore()
    for number in 1...6 { source.append(Int64(number), at: .at(0)) }
    try JobRunner(try job(), checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    let emptied = MemorySource<Int64>("numbers")
    let job = try Job("job") { flow in
      _ = flow.from(emptied).keyed(by: { $0 }).fold("sum", initial: Int64(0)) { $0 += $1 }
    }
    #expect {
      try JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    } throws: {
      ($0 as? DataflowError)?.code == .sourceFailed
    }
  }

  @Test func checkpointNumbersGrowAcrossJobs() throws {
    let store = try TestStore()
    source.append(1, at: .at(0))
    for name in ["one", "two", "three"] {
      let job = try Job(name) { [source] flow in flow.from(source).forEach("x") { _ in } }
      try JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    }
    #expect(try store.checkpoints.jobs().map(\.name) == ["one", "three", "two"])
    #expect(Set(try store.checkpoints.jobs().map(\.checkpoint)) == [1, 2, 3])
    #expect(Set(try store.checkpoints.jobs().map(\.id)).count == 3)
    #expect(try store.checkpoints.lastCheckpoint() == 3)
  }

  @Test func aDrainedJobGoesOnOnlyAfterAReset() throws {
    let store = try TestStore()
    source.append(1, at: .at(0))
    let runner = JobRunner(try job(), checkpoints: store.checkpoints, options: RunOptions(mode: .drain))
    #expect(try runner.runBlocking() == .drained)
    #expect { try runner.runBlocking() } throws: { ($0 as? DataflowError)?.code == .drained }
    try store.checkpoints.reset("job")
    #expect(try store.checkpoints.job("job")?.incarnation == 2)
    #expect(try runner.runBlocking() == .drained)
    // From nothing again.
    #expect(sink.committed == [1, 1])
  }
}
