import Bytes
import Dataflow
import Records
import Testing

/// Behaviours 1 to 11 as far as they are about windows; those of watermarks and timers are beside them in
/// WatermarkTests and TimerTests.
@Suite struct WindowBehaviourTests {
  // MARK: 1, 2: where windows lie

  @Test func negativeTimesFallIntoTheWindowsBelow() throws {
    let steps: [Step] = [.record(-11), .record(-10), .record(-1), .watermark(100)]
    #expect(
      try run(steps) { $0.window(.tumbling(.units(10))).times() }.panes == [
        Pane(-20, -10, [-11]), Pane(-10, 0, [-10, -1]),
      ])
    #expect(
      try run([.record(-11), .watermark(100)]) { $0.window(.sliding(.units(10), every: .units(5))).times() }.panes
        == [Pane(-20, -10, [-11]), Pane(-15, -5, [-11])])
  }

  @Test func theLastMicrosecondBelongsToItsWindows() throws {
    let panes = try run([.record(9_999_999), .watermark(100_000_000)]) {
      $0.window(.sliding(.seconds(10), every: .seconds(5))).times()
    }.panes
    #expect(panes == [Pane(0, 10_000_000, [9_999_999]), Pane(5_000_000, 15_000_000, [9_999_999])])
  }

  @Test func windowsDoNotDependOnTheFirstRecordOrTheStart() throws {
    for first: Int64 in [0, 3, 7] {
      let panes = try run([.record(first), .record(12), .watermark(50)]) { $0.window(.tumbling(.units(10))).times() }
        .panes
      #expect(panes.map(\.start) == [0, 10])
    }
  }

  @Test func anOffsetMovesAllWindows() throws {
    for offset: Int64 in [3, 13, -7] {
      let panes = try run([.record(2), .record(3), .record(-8), .watermark(50)]) {
        $0.window(.tumbling(.units(10), offset: .units(offset))).times()
      }.panes
      #expect(panes == [Pane(-17, -7, [-8]), Pane(-7, 3, [2]), Pane(3, 13, [3])])
    }
  }

  @Test func aSlideThatDoesNotDivideTheSizeHasWindowsOfFullSize() throws {
    let panes = try run([.record(0), .record(7), .record(11), .watermark(100)]) {
      $0.window(.sliding(.units(10), every: .units(4))).times()
    }.panes
    #expect(
      panes == [
        Pane(-8, 2, [0]), Pane(-4, 6, [0]), Pane(0, 10, [0, 7]), Pane(4, 14, [7, 11]), Pane(8, 18, [11]),
      ])
  }

  @Test func cumulativeWindowsGrowFromOneBeginning() throws {
    let panes = try run([.record(1), .record(12), .record(25), .record(31), .watermark(100)]) {
      $0.window(.cumulative(.units(30), every: .units(10))).times()
    }.panes
    #expect(
      panes == [
        Pane(0, 10, [1]), Pane(0, 20, [1, 12]), Pane(0, 30, [1, 12, 25]),
        Pane(30, 40, [31]), Pane(30, 50, [31]), Pane(30, 60, [31]),
      ])
  }

  // MARK: 3, 4: sessions

  @Test func aRecordBeforeTheEndOfAGoneSessionIsLate() throws {
    let found = try run([.record(0), .watermark(6), .record(3), .record(5), .watermark(20)]) {
      $0.window(.session(gap: .units(5))).times()
    }
    #expect(found.panes == [Pane(0, 5, [0]), Pane(5, 10, [5])])
    #expect(found.late == [3])
  }

  @Test func touchingSessionsStayApartAndOverlappingOnesMerge() throws {
    #expect(
      try run([.record(0), .record(5), .watermark(20)]) { $0.window(.session(gap: .units(5))).times() }.panes
        == [Pane(0, 5, [0]), Pane(5, 10, [5])])
    #expect(
      try run([.record(0), .record(4), .watermark(20)]) { $0.window(.session(gap: .units(5))).times() }.panes
        == [Pane(0, 9, [0, 4])])
  }

  @Test func aRecordBetweenTwoSessionsJoinsThem() throws {
    let found = try run([.record(0), .record(8), .record(4), .record(0, "b"), .watermark(50)]) {
      $0.window(.session(gap: .units(5))).times()
    }
    #expect(found.panes.sorted() == [Pane(0, 13, [0, 4, 8]), Pane("b", 0, 5, [0])])
  }

  @Test func aGoneSessionIsForgottenInItsTime() throws {
    // Remembered until 4 + 5: at 9 the first rule says what the second did, and the key has no state any more.
    let store = try TestStore()
    let test = try StepJob { $0.window(.session(gap: .units(5))).times() }
    let options = RunOptions(mode: .toEnd, batchSize: 1)
    test.append([.record(0), .watermark(8)])
    try JobRunner(test.job, checkpoints: store.checkpoints, options: options).runBlocking()
    test.append([.record(4), .watermark(9), .record(4), .record(5), .watermark(30)])
    try JobRunner(test.job, checkpoints: store.checkpoints, options: options).runBlocking()
    #expect(test.results.committed == [Pane(0, 5, [0])])
    #expect(test.late.committed.map(\.time) == [4, 4, 5])
  }

  @Test func aPurgedSessionGrowsWithoutWhatItHad() throws {
    let found = try run([.record(0), .watermark(4), .record(3), .watermark(7), .watermark(50)]) {
      $0.window(.session(gap: .units(5))).allowingLateness(.units(10)).purging().times()
    }
    #expect(found.panes == [Pane(0, 5, [0]), Pane(0, 8, [3])])
    #expect(found.late == [])
  }

  @Test func aSessionKeptForLateRecordsAccumulates() throws {
    let found = try run([.record(0), .watermark(6), .record(1), .record(3), .watermark(7), .watermark(50)]) {
      $0.window(.session(gap: .units(5))).allowingLateness(.units(10)).times()
    }
    // The record at 1 ends before 6: an update at once. The one at 3 reopens the session to 8.
    #expect(found.panes == [Pane(0, 5, [0]), Pane(0, 6, .late, [0, 1]), Pane(0, 8, [0, 1, 3])])
  }

  // MARK: 6: processing time

  @Test func aWindowByTheClockFiresAtItsEndAndNotBefore() throws {
    let store = try TestStore()
    let clock = ManualClock(at: .at(3))
    let test = try StepJob { $0.window(.tumbling(.units(10))).inProcessingTime().times() }
    test.append([.record(777)])
    let driver = try JobDriver(
      test.job, checkpoints: store.checkpoints, options: RunOptions(checkpoints: .everyRecords(1), clock: clock))
    try driver.runUntilIdle()
    clock.advance(by: .units(6))
    try driver.runUntilIdle()
    #expect(test.results.seen == [])
    clock.advance(by: .units(1))
    try driver.runUntilIdle()
    #expect(test.results.seen == [Pane(0, 10, [777])])
    test.append([.record(5)])
    try driver.runUntilIdle()
    driver.crash()
    // While nobody looked the clock went far beyond the end.
    clock.advance(by: .units(100))
    let second = try JobDriver(
      test.job, checkpoints: store.checkpoints, options: RunOptions(checkpoints: .everyRecords(1), clock: clock))
    try second.runUntilIdle()
    try second.stop()
    #expect(test.results.committed == [Pane(0, 10, [777]), Pane(10, 20, [5])])
  }

  @Test func aDrainFiresWindowsOfTheClock() throws {
    let clock = ManualClock(at: .at(3))
    let found = try run([.record(1), .record(2)], options: RunOptions(mode: .drain, clock: clock)) {
      $0.window(.session(gap: .units(10))).inProcessingTime().times()
    }
    #expect(found.panes == [Pane(3, 13, [1, 2])])
  }

  // MARK: 8, 9: lateness

  @Test(arguments: [1, 3]) func nothingFiresTwiceAfterACrash(parallelism: Int) throws {
    let store = try TestStore()
    for (name, shape) in [("plain", 0), ("sliding", 1), ("session", 2)] {
      let test = try StepJob(partitions: 2) { keyed in
        switch shape {
        case 0: keyed.window(.tumbling(.units(10))).times()
        case 1: keyed.window(.sliding(.units(10), every: .units(10))).times()
        default: keyed.window(.session(gap: .units(7))).times()
        }
      }
      _ = name
      let options = RunOptions(parallelism: parallelism, checkpoints: .everyRecords(1), batchSize: 1)
      test.append([.record(3), .watermark(20)])
      test.append([.watermark(20)], partition: 1)
      let first = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
      try first.runUntilIdle()
      first.crash()
      test.append([.record(5), .watermark(30)])
      let second = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
      try second.runUntilIdle()
      try second.stop()
      #expect(test.results.committed == [Pane(shape == 2 ? 3 : 0, 10, [3])])
      #expect(test.late.committed.map(\.time) == [5])
      try store.checkpoints.reset("job")
    }
  }

  @Test func withinTheLatenessARecordIsAnUpdate() throws {
    let steps: [Step] = [
      .record(1), .watermark(9), .record(2), .watermark(13), .record(3), .watermark(14), .record(4), .watermark(50),
    ]
    let expected = [Pane(0, 10, [1]), Pane(0, 10, .late, [1, 2]), Pane(0, 10, .late, [1, 2, 3])]
    let slices = try run(steps) { $0.window(.tumbling(.units(10))).allowingLateness(.units(5)).times() }
    #expect(slices.panes == expected)
    #expect(slices.late == [4])
    // The same by the general way.
    let listed = try run(steps) { $0.window(.tumbling(.units(10))).allowingLateness(.units(5)).listed() }
    #expect(listed.panes == expected)
    #expect(listed.late == [4])
    let purged = try run(steps) { $0.window(.tumbling(.units(10))).allowingLateness(.units(5)).purging().times() }
    #expect(purged.panes == [Pane(0, 10, [1]), Pane(0, 10, .late, [2]), Pane(0, 10, .late, [3])])
    #expect(purged.late == [4])
  }

  @Test func aLateRecordUpdatesEachWindowThatIsKept() throws {
    let found = try run([.record(1), .watermark(16), .record(7), .watermark(50)]) {
      $0.window(.sliding(.units(10), every: .units(5))).allowingLateness(.units(8)).times()
    }
    // 7 lies in [0,10), over and kept until 17, and in [5,15), which is over too but had nothing.
    #expect(
      found.panes == [
        Pane(-5, 5, [1]), Pane(0, 10, [1]), Pane(0, 10, .late, [1, 7]), Pane(5, 15, .late, [7]),
      ])
  }

  @Test func lateRecordsOfABatchAreUpdatesOneByOne() throws {
    let store = try TestStore()
    let test = try StepJob { $0.window(.tumbling(.units(10))).allowingLateness(.units(20)).times() }
    test.append([.record(1), .watermark(9)])
    try JobRunner(test.job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd, batchSize: 1))
      .runBlocking()
    test.append([.record(2), .record(15), .record(3), .record(2, "b")])
    try JobRunner(test.job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    #expect(
      test.results.committed == [
        Pane(0, 10, [1]), Pane(0, 10, .late, [1, 2]), Pane(0, 10, .late, [1, 2, 3]), Pane("b", 0, 10, .late, [2]),
      ])
  }

  // MARK: 10, 11: ends

  @Test func theEndFiresEveryWindowOnceAndLatenessSaturates() throws {
    let options = RunOptions(mode: .drain)
    let steps: [Step] = [.record(1), .record(15), .record(.max), .record(.min)]
    for windows: @Sendable (KeyedStream<Step>) -> WindowResults in [
      { $0.window(.tumbling(.units(10))).times() },
      { $0.window(.tumbling(.units(10))).allowingLateness(.units(.max)).times() },
      { $0.window(.tumbling(.units(10))).allowingLateness(.units(.max)).listed() },
      { $0.window(.session(gap: .units(3))).allowingLateness(.units(.max)).times() },
    ] {
      let found = try run(steps, options: options, windows)
      #expect(found.panes.flatMap(\.times).sorted() == [.min, 1, 15, .max])
      #expect(found.panes.count == 4)
    }
    let sliding = try run(steps, options: options) { $0.window(.sliding(.units(10), every: .units(5))).times() }
    #expect(sliding.panes.count >= 6 && sliding.panes.count <= 8)
  }

  @Test func countWindowsGiveWhatIsLeftAtTheEnd() throws {
    let steps = (0..<7).map { Step.record($0) }
    let found = try run(steps, options: RunOptions(mode: .drain)) { $0.window(.count(3)).times() }
    #expect(found.panes.map(\.times) == [[0, 1, 2], [3, 4, 5], [6]])
    #expect(found.panes.map(\.kind) == [.early, .early, .onTime])
  }

  @Test(arguments: [1, 3]) func aBoundedInputIsCommittedWhole(parallelism: Int) throws {
    let store = try TestStore()
    let test = try StepJob { $0.window(.tumbling(.units(2))).times() }
    test.append((0..<10).map { .record($0) })
    let options = RunOptions(mode: .drain, parallelism: parallelism, checkpoints: .atEnd)
    let driver = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
    try driver.step()
    driver.crash()
    try JobRunner(test.job, checkpoints: store.checkpoints, options: options).runBlocking()
    #expect(test.results.committed.flatMap(\.times).sorted() == Array(0..<10))
  }
}
