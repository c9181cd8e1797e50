import Bytes
import Dataflow
import Testing

/// A fired window of a test: key, bounds, count.
struct Fired: Hashable, Sendable, Comparable {
  var key: String
  var start: Int64
  var end: Int64
  var count: Int64

  static func < (left: Fired, right: Fired) -> Bool {
    (left.start, left.key, left.count) < (right.start, right.key, right.count)
  }
}

/// Counts per key and tumbling window of 10; the late records go to a sink of their own.
struct WindowJob {
  let source: MemorySource<String>
  let results = CollectSink<Fired>("results")
  let late = CollectSink<String>("late")
  let job: Job

  init(partitions: Int = 1, outOfOrderness: Int64 = 0) throws {
    let source = MemorySource<String>("events", partitions: partitions)
    let (results, late) = (results, late)
    self.source = source
    job = try Job("windows") { flow in
      let windows = flow.from(source, watermarks: .boundedOutOfOrderness(.units(outOfOrderness)))
        .keyed(by: { $0 })
        .window(.tumbling(.units(10)))
        .aggregateWithLate(
          "window", initial: Int64(0), { count, _ in count += 1 },
          result: { (key: String, window, count) in
            Fired(
              key: key, start: window.start.microseconds, end: window.end.microseconds, count: count)
          })
      windows.results.sink(results)
      windows.late.sink(late)
    }
  }
}

@Suite struct WindowTests {
  /// One record a batch, so that the watermark follows each record.
  private let stepwise = RunOptions(mode: .toEnd, batchSize: 1)

  @Test func negativeTimesFallIntoTheWindowBelow() throws {
    let store = try TestStore()
    let test = try WindowJob()
    for time: Int64 in [-11, -10, -1, 0] { test.source.append("a", at: .at(time)) }
    try JobRunner(test.job, checkpoints: store.checkpoints, options: RunOptions(mode: .drain)).runBlocking()
    #expect(
      test.results.committed.sorted() == [
        Fired(key: "a", start: -20, end: -10, count: 1), Fired(key: "a", start: -10, end: 0, count: 2),
        Fired(key: "a", start: 0, end: 10, count: 1),
      ])
  }

  @Test func extremeTimesNeitherTrapNorHang() throws {
    let store = try TestStore()
    let test = try WindowJob()
    for time: Int64 in [.min, .min + 1, 0, .max - 1, .max] { test.source.append("a", at: .at(time)) }
    try JobRunner(
      test.job, checkpoints: store.checkpoints, options: RunOptions(mode: .drain)
    ).runBlocking()
    #expect(test.results.committed.map(\.count).reduce(0, +) == 5)
  }

  @Test func aWindowFiresWhenTheWatermarkReachesItsLastMoment() throws {
    let store = try TestStore()
    let test = try WindowJob()
    test.source.append("a", at: .at(1))
    // The watermark after a record at t is t − 1.
    test.source.append("x", at: .at(9))
    try JobRunner(test.job, checkpoints: store.checkpoints, options: stepwise).runBlocking()
    #expect(test.results.committed == [])
    test.source.append("x", at: .at(10))
    try JobRunner(test.job, checkpoints: store.checkpoints, options: stepwise).runBlocking()
    #expect(
      test.results.committed.sorted() == [
        Fired(key: "a", start: 0, end: 10, count: 1), Fired(key: "x", start: 0, end: 10, count: 1),
      ])
    // Fired: what comes now is late.
    test.source.append("a", at: .at(4))
    let runner = JobRunner(test.job, checkpoints: store.checkpoints, options: stepwise)
    try runner.runBlocking()
    #expect(test.results.committed.count == 2)
    #expect(test.late.committed == ["a"])
    #expect(runner.metrics?.named("window")?.late == 1)
  }

  @Test(arguments: [1, 2, 3]) func theWatermarkSurvivesACrash(parallelism: Int) throws {
    let store = try TestStore()
    let test = try WindowJob(partitions: 2)
    let options = RunOptions(parallelism: parallelism, checkpoints: .everyRecords(1), batchSize: 1)
    // The second partition never has a record: it must not matter for what is remembered.
    test.source.append("a", at: .at(3))
    test.source.append("x", at: .at(21))
    test.source.append("x", at: .at(21), partition: 1)
    let driver = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
    try driver.runUntilIdle()
    driver.crash()
    #expect(test.results.committed == [Fired(key: "a", start: 0, end: 10, count: 1)])
    test.source.append("a", at: .at(5))
    let second = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
    try second.runUntilIdle()
    try second.stop()
    #expect(test.late.committed == ["a"])
    #expect(test.results.committed == [Fired(key: "a", start: 0, end: 10, count: 1)])
  }

  @Test func aPartitionThatNeverHadARecordRecovers() throws {
    let store = try TestStore()
    let test = try WindowJob(partitions: 2)
    test.source.append("a", at: .at(3))
    let options = RunOptions(checkpoints: .everyRecords(1), batchSize: 1)
    let driver = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
    try driver.runUntilIdle()
    driver.crash()
    test.source.append("a", at: .at(1), partition: 1)
    try JobRunner(test.job, checkpoints: store.checkpoints, options: RunOptions(mode: .drain)).runBlocking()
    #expect(test.results.committed == [Fired(key: "a", start: 0, end: 10, count: 2)])
    #expect(test.late.committed == [])
  }

  @Test func aThrowingResultIsSkippedWithItsWindow() throws {
    struct Refused: Error {}
    let store = try TestStore()
    let source = MemorySource<Int64>("events")
    let sink = CollectSink<Int64>("out")
    let job = try Job("windows") { flow in
      flow.from(source).keyed(by: { $0 }).window(.tumbling(.units(10)))
        .aggregate(
          "window", initial: Int64(0), onError: .skip, { $0 += $1 },
          result: { (key: Int64, _, sum) in if key == 1 { throw Refused() } else { sum } }
        ).sink(sink)
    }
    for value: Int64 in [1, 2, 1, 2] { source.append(value, at: .at(0)) }
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .drain))
    #expect(try runner.runBlocking() == .drained)
    #expect(sink.committed == [4])
    #expect(runner.metrics?.named("window")?.skipped == 1)
  }
}
