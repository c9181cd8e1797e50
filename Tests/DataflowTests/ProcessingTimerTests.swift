import Bytes
import Dataflow
import Testing

@Suite struct ProcessingTimerTests {
  struct Request: Sendable {
    var key: String
    var set: [Int64] = []
    var delete: [Int64] = []
  }

  static func job(
    _ source: MemorySource<Request>, _ sink: CollectSink<String>,
    again: @escaping @Sendable (Int64) -> Int64? = { _ in nil }
  ) throws -> Job {
    try Job("timers") { flow in
      flow.from(source).keyed(by: \.key).process(
        "timers", with: { $0.value("count", of: Int64.self) }, emitting: String.self,
        onRecord: { request, count, call in
          count.update(default: 0) { $0 += 1 }
          for time in request.set { call.setProcessingTimer(at: .at(time)) }
          for time in request.delete { call.deleteProcessingTimer(at: .at(time)) }
        },
        onProcessingTimer: { time, count, call in
          call.emit("\(try call.key(as: String.self))@\(time.microseconds) \(count.value ?? 0)")
          if let next = again(time.microseconds) { call.setProcessingTimer(at: .at(next)) }
        }
      ).sink(sink)
    }
  }

  @Test(arguments: [1, 2]) func theyFireWhenTheClockHasComeToThemOnceEachInOrder(parallelism: Int) throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    let clock = ManualClock()
    source.append(Request(key: "A", set: [10]), at: .at(0))
    source.append(Request(key: "A", set: [10, 5]), at: .at(0))
    source.append(Request(key: "B", set: [7, 8], delete: [8]), at: .at(0))
    let driver = try JobDriver(
      try Self.job(source, sink), checkpoints: store.checkpoints,
      options: RunOptions(parallelism: parallelism, checkpoints: .everyRecords(1), clock: clock))
    try driver.runUntilIdle()
    #expect(sink.seen == [])
    clock.advance(by: .units(9))
    try driver.runUntilIdle()
    #expect(sink.seen.sorted() == ["A@5 2", "B@7 1"])
    clock.advance(by: .units(1))
    try driver.runUntilIdle()
    #expect(sink.seen.sorted() == ["A@10 2", "A@5 2", "B@7 1"])
    // What they did is part of a checkpoint though no record came.
    #expect(sink.committed.count == 3)
    clock.advance(by: .units(100))
    try driver.runUntilIdle()
    #expect(sink.seen.count == 3)
  }

  @Test func theyWaitThroughACrashAndADowntime() throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    let clock = ManualClock()
    for index in 0..<20 { source.append(Request(key: "k\(index)", set: [10 + Int64(index)]), at: .at(0)) }
    let job = try Self.job(source, sink)
    for parallelism in [1, 3] {
      let driver = try JobDriver(
        job, checkpoints: store.checkpoints,
        options: RunOptions(parallelism: parallelism, checkpoints: .everyRecords(1), clock: clock))
      try driver.runUntilIdle()
      driver.crash()
    }
    #expect(sink.seen == [])
    clock.advance(by: .units(19))
    let driver = try JobDriver(
      job, checkpoints: store.checkpoints,
      options: RunOptions(parallelism: 2, checkpoints: .everyRecords(1), clock: clock))
    try driver.runUntilIdle()
    try driver.stop()
    #expect(sink.committed.sorted() == (0..<10).map { "k\($0)@\($0 + 10) 1" }.sorted())
  }

  @Test func aDrainFiresWhatStillWaitsAndNothingThatIsSetThen() throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    source.append(Request(key: "A", set: [1000, 10]), at: .at(0))
    let runner = JobRunner(
      try Self.job(source, sink, again: { $0 + 1 }), checkpoints: store.checkpoints,
      options: RunOptions(mode: .drain, clock: ManualClock()))
    #expect(try runner.runBlocking() == .drained)
    #expect(sink.committed == ["A@10 1", "A@1000 1"])
    #expect(runner.metrics?.named("timers")?.discardedTimers == 2)
  }

  @Test func aRealClockWakesTheJob() async throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    let fired = AsyncStream.makeStream(of: Void.self)
    let job = try Job("timers") { flow in
      let results = flow.from(source).keyed(by: \.key).process(
        "timers", state: Int64.self, emitting: String.self,
        onRecord: { _, call in call.setProcessingTimer(at: call.processingTime + .milliseconds(5)) },
        onProcessingTimer: { _, call in
          call.emit("fired")
          fired.continuation.yield()
        })
      results.sink(sink)
    }
    source.append(Request(key: "A"), at: .at(0))
    let runner = JobRunner(job, checkpoints: store.checkpoints)
    let run = Task { try await runner.run() }
    for await _ in fired.stream { break }
    runner.stop()
    #expect(try await run.value == .stopped)
    #expect(sink.committed == ["fired"])
  }

  @Test func settingOneWithoutAHandlerFailsTheRecord() throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    source.append(Request(key: "A"), at: .at(0))
    let job = try Job("timers") { flow in
      flow.from(source).keyed(by: \.key).process(
        "timers", state: Int64.self, emitting: String.self,
        onRecord: { _, call in call.setProcessingTimer(at: .at(1)) }
      ).sink(sink)
    }
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    #expect { try runner.runBlocking() } throws: { ($0 as? DataflowError)?.code == .invalidArgument }
  }
}
