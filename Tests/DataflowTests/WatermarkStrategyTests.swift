import Bytes
import Dataflow
import Testing

/// What a source's watermarks are, seen through the times at which windows of 10 fire.
@Suite struct WatermarkStrategyTests {
  private let stepwise = RunOptions(mode: .toEnd, batchSize: 1)

  private func starts(
    _ times: [Int64], _ options: RunOptions, _ from: (Flow, MemorySource<Int64>) -> Stream<Int64>
  ) throws -> (fired: [Int64], late: [Int64]) {
    let store = try TestStore()
    let source = MemorySource<Int64>("events")
    let fired = CollectSink<Int64>("fired")
    let late = CollectSink<Int64>("late")
    let job = try Job("job") { flow in
      let windows = from(flow, source).keyed(by: { _ in 0 }).window(.tumbling(.units(10)))
        .aggregateWithLate(
          "windows", initial: Int64(0), { $0 += $1 }, result: { (_: Int, window, _) in window.start.microseconds })
      windows.results.sink(fired)
      windows.late.sink(late)
    }
    for time in times { source.append(time, at: .at(time)) }
    try JobRunner(job, checkpoints: store.checkpoints, options: options).runBlocking()
    return (fired.committed, late.committed)
  }

  @Test func monotonicTimesCloseWindowsAtTheNextRecord() throws {
    let result = try starts([1, 9, 10, 11, 20, 19], stepwise) { $0.from($1, watermarks: .monotonic()) }
    // 20 says that nothing at or before 19 follows.
    #expect(result.fired == [0, 10])
    #expect(result.late == [19])
  }

  @Test func equalTimesAreOnTimeUnderMonotonic() throws {
    let result = try starts([10, 20, 20, 20], stepwise) { $0.from($1, watermarks: .monotonic()) }
    #expect(result.late == [])
  }

  @Test func marksInRecordsMoveTheWatermarkAndNothingElseDoes() throws {
    // Multiples of 7 say: everything before me has come.
    let result = try starts([3, 40, 12, 14, 15, 21, 5], stepwise) {
      $0.from($1, watermarks: .punctuated { element, _ in element % 7 == 0 ? .at(element - 1) : nil })
    }
    #expect(result.fired == [0, 10])
    #expect(result.late == [5])
  }

  /// Promises a time only when it has seen three records; keeps the largest.
  struct EveryThird: WatermarkGenerator {
    var count = 0
    var largest = Timestamp.min

    mutating func observe(_ batch: borrowing Batch<Int64>, _ range: Range<Int>) -> Timestamp? {
      count += range.count
      for index in range { largest = max(largest, batch.timestamp(index)) }
      return count % 3 == 0 ? largest : nil
    }
  }

  @Test func aGeneratorHasStateOfItsOwnPerPartition() throws {
    let result = try starts([10, 25, 11, 12, 35, 36, 24], stepwise) {
      $0.from($1, watermarks: .generated(by: EveryThird()))
    }
    // 25 after the third record, 36 after the sixth.
    #expect(result.fired == [10, 20])
    #expect(result.late == [12, 24])
  }

  @Test func aGeneratorThatFallsBackDoesNotPullEventTimeBack() throws {
    let result = try starts([20, 5, 30], stepwise) {
      $0.from($1, watermarks: .punctuated { element, _ in .at(element) })
    }
    #expect(result.fired == [20])
    #expect(result.late == [5])
  }

  @Test func aMarkSurvivesACrash() throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("events")
    let late = CollectSink<Int64>("late")
    let job = try Job("job") { flow in
      flow.from(source, watermarks: .punctuated { element, _ in element == 20 ? .at(19) : nil })
        .keyed(by: { _ in 0 }).window(.tumbling(.units(10)))
        .aggregateWithLate("windows", initial: Int64(0), { $0 += $1 }, result: { (_: Int, _, sum) in sum })
        .late.sink(late)
    }
    let options = RunOptions(checkpoints: .everyRecords(1), batchSize: 1)
    for time: Int64 in [1, 20] { source.append(time, at: .at(time)) }
    let first = try JobDriver(job, checkpoints: store.checkpoints, options: options)
    try first.runUntilIdle()
    first.crash()
    source.append(5, at: .at(5))
    let second = try JobDriver(job, checkpoints: store.checkpoints, options: options)
    try second.runUntilIdle()
    try second.stop()
    #expect(late.committed == [5])
  }

  @Test func ingestionTimeIsTheClockAndGoesOnWithoutRecords() throws {
    let store = try TestStore()
    let clock = ManualClock(at: .at(1_000_000))
    let source = MemorySource<Int64>("events")
    let fired = CollectSink<Int64>("fired")
    let job = try Job("job") { flow in
      flow.from(source, watermarks: .ingestionTime(tick: .milliseconds(1))).keyed(by: { _ in 0 })
        .window(.tumbling(.milliseconds(10)))
        .aggregate("windows", initial: Int64(0), { $0 += $1 }, result: { (_: Int, window, sum) in sum })
        .sink(fired)
    }
    // Their own timestamps do not matter.
    source.append(1, at: .at(5))
    source.append(2, at: .at(9_000_000))
    let driver = try JobDriver(
      job, checkpoints: store.checkpoints, options: RunOptions(checkpoints: .everyRecords(1), clock: clock))
    try driver.runUntilIdle()
    #expect(fired.committed == [])
    clock.advance(by: .milliseconds(10))
    try driver.runUntilIdle()
    #expect(fired.seen == [3])
    try driver.stop()
    #expect(fired.committed == [3])
  }

  @Test func withoutEventTimeNothingFiresBeforeTheEnd() throws {
    #expect(try starts([1, 100], stepwise) { $0.from($1, watermarks: .processingTime) }.fired == [])
    #expect(try starts([1, 100], RunOptions(mode: .drain)) { $0.from($1, watermarks: .none) }.fired == [0, 100])
  }
}
