import Bytes
import Dataflow
import Records
import Testing

@Suite struct TriggerTests {
  @Test func earlyFiringsComeEveryStretchOfEventTimeForWhatChanged() throws {
    let steps: [Step] = [
      .record(1), .watermark(2), .watermark(3), .watermark(8), .record(9), .record(13), .watermark(15), .record(17),
      .watermark(19),
    ]
    let found = try run(steps) { $0.window(.tumbling(.units(20))).firingEarly(every: .units(4)).times() }
    // Ends of stretches: 3, 7, 11, 15; nothing changed in the one to 7, and 11 passes with 15.
    #expect(
      found.panes == [
        Pane(0, 20, .early, [1]), Pane(0, 20, .early, [1, 9, 13]), Pane(0, 20, [1, 9, 13, 17]),
      ])
  }

  @Test func earlyFiringsByTheClock() throws {
    let store = try TestStore()
    let clock = ManualClock(at: .at(0))
    let test = try StepJob { $0.window(.tumbling(.units(1000))).firingEarly(everyOfClock: .units(10)).times() }
    let options = RunOptions(checkpoints: .everyRecords(1), clock: clock)
    test.append([.record(1)])
    let driver = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
    try driver.runUntilIdle()
    clock.advance(by: .units(9))
    try driver.runUntilIdle()
    #expect(test.results.seen == [])
    clock.advance(by: .units(1))
    try driver.runUntilIdle()
    #expect(test.results.seen == [Pane(0, 1000, .early, [1])])
    // Nothing changed: nothing fires.
    clock.advance(by: .units(50))
    try driver.runUntilIdle()
    #expect(test.results.seen.count == 1)
    test.append([.record(2)])
    try driver.runUntilIdle()
    driver.crash()
    clock.advance(by: .units(50))
    let second = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
    try second.runUntilIdle()
    test.append([.watermark(999)])
    try second.runUntilIdle()
    try second.stop()
    #expect(
      test.results.committed == [
        Pane(0, 1000, .early, [1]), Pane(0, 1000, .early, [1, 2]), Pane(0, 1000, [1, 2]),
      ])
  }

  @Test func countsFireWithinWindows() throws {
    let steps: [Step] = (0..<5).map { .record($0) } + [.watermark(9)]
    let kept = try run(steps) { $0.window(.tumbling(.units(10))).firing(onCount: 2).times() }
    #expect(
      kept.panes == [Pane(0, 10, .early, [0, 1]), Pane(0, 10, .early, [0, 1, 2, 3]), Pane(0, 10, [0, 1, 2, 3, 4])])
    let purged = try run(steps) { $0.window(.tumbling(.units(10))).firing(onCount: 2).purging().times() }
    #expect(purged.panes == [Pane(0, 10, .early, [0, 1]), Pane(0, 10, .early, [2, 3]), Pane(0, 10, [4])])
  }

  @Test func purgedOverlappingWindowsHaveContentsOfTheirOwn() throws {
    let found = try run([.record(1), .record(7), .watermark(9), .record(12), .watermark(50)]) {
      $0.window(.sliding(.units(10), every: .units(5))).purging().times()
    }
    #expect(found.panes == [Pane(-5, 5, [1]), Pane(0, 10, [1, 7]), Pane(5, 15, [7, 12]), Pane(10, 20, [12])])
  }

  @Test func anEmptyWindowDoesNotFire() throws {
    let found = try run([.record(1), .record(2), .watermark(9)]) {
      $0.window(.tumbling(.units(10))).firing(onCount: 2).purging().times()
    }
    #expect(found.panes == [Pane(0, 10, .early, [1, 2])])
  }

  /// Fires at every record after the third, and `delay` of event time after the first; never at the end.
  struct Peculiar: WindowTrigger {
    typealias Element = Step
    struct State: Record {
      var count: Int64 = 0
    }
    let delay: Int64

    var initialState: State { State() }
    func onRecord(_ element: borrowing Step, _ state: inout State, _ context: inout TriggerContext) -> TriggerAction {
      state.count += 1
      if state.count == 1 { context.setTimer(at: .at(context.timestamp.microseconds + delay)) }
      return state.count > 3 ? .fireAndPurge : .none
    }
    func onEventTime(
      _ time: Timestamp, _ state: inout State, _ context: inout TriggerContext
    ) -> TriggerAction { .fire }
    func onEnd(_ state: inout State, _ context: inout TriggerContext) -> TriggerAction { .none }
    func merge(_ other: State, into state: inout State, _ context: inout TriggerContext) { state.count += other.count }
  }

  @Test func aTriggerOfOnesOwnKeepsItsStateAndTimers() throws {
    let store = try TestStore()
    let test = try StepJob { $0.window(.tumbling(.units(100))).triggered(by: Peculiar(delay: 20)).times() }
    let options = RunOptions(checkpoints: .everyRecords(1), batchSize: 1)
    let parts: [[Step]] = [
      [.record(1), .record(2)], [.watermark(20)], [.watermark(21)], [.record(30)], [.record(40)], [.record(50)],
      [.watermark(200)],
    ]
    for part in parts {
      test.append(part)
      let driver = try JobDriver(test.job, checkpoints: store.checkpoints, options: options)
      try driver.runUntilIdle()
      driver.crash()
    }
    #expect(
      test.results.committed == [
        Pane(0, 100, .early, [1, 2]), Pane(0, 100, .early, [1, 2, 30, 40]), Pane(0, 100, .early, [50]),
      ])
  }

  @Test func sessionsMergeTheirTriggers() throws {
    let found = try run([.record(0), .record(1), .record(9), .record(5), .watermark(50)]) {
      $0.window(.session(gap: .units(5))).triggered(by: Peculiar(delay: 1000)).times()
    }
    // Two and one, joined by the fourth.
    #expect(found.panes == [Pane(0, 14, .early, [0, 1, 5, 9])])
  }

  @Test func aTriggerThatSetsTimersForEverEndsWithTheInput() throws {
    struct Restless: WindowTrigger {
      typealias Element = Step
      var initialState: Int64 { 0 }
      func onRecord(_ element: borrowing Step, _ state: inout Int64, _ context: inout TriggerContext) -> TriggerAction {
        context.setTimer(at: .at(10))
        return .none
      }
      func onEventTime(_ time: Timestamp, _ state: inout Int64, _ context: inout TriggerContext) -> TriggerAction {
        context.setTimer(at: .at(time.microseconds + 10))
        return .fire
      }
    }
    let found = try run([.record(1), .watermark(25)], options: RunOptions(mode: .drain, batchSize: 1)) {
      $0.window(.global).triggered(by: Restless()).times()
    }
    #expect(found.panes.map(\.kind) == [.early, .early, .early, .onTime])
  }

  @Test func aFailingResultUnderSkipLeavesTheWindowAsItWas() throws {
    struct Refused: Error {}
    let store = try TestStore()
    let source = MemorySource<Step>("steps")
    let sink = CollectSink<[Int64]>("out")
    let job = try Job("job") { flow in
      flow.from(source).keyed(by: \.key).window(.count(2))
        .aggregate(
          "windows", initial: [Int64](), onError: .skip,
          { times, step in
            times.append(step.time)
            if step.time == 3 { throw Refused() }
          }, result: { (_: String, _, times) in if times.contains(5) { throw Refused() } else { times } }
        ).sink(sink)
    }
    for time: Int64 in 1...8 { source.append(.record(time), at: .at(time)) }
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .drain))
    try runner.runBlocking()
    // 3 fails; 5 fails with its window and is taken back, so 4 waits for 6.
    #expect(sink.committed == [[1, 2], [4, 6], [7, 8]])
    #expect(runner.metrics?.named("windows")?.skipped == 2)
  }
}
