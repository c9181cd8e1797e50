import Bytes
import Dataflow
import Testing

@Suite struct TimerTests {
  /// What a record asks for.
  struct Request: Sendable {
    var key: String
    var set: [Int64] = []
    var delete: [Int64] = []
  }

  /// A process that sets the timers that its records name and emits "key@time" for each that fires; `again` gives the
  /// time of another one to be set in the callback.
  static func job(
    _ source: MemorySource<Request>, _ sink: CollectSink<String>,
    again: @escaping @Sendable (Int64) -> Int64? = { _ in nil }
  ) throws -> Job {
    try Job("timers") { flow in
      flow.from(source).keyed(by: \.key)
        .process(
          "timers", state: Int64.self, emitting: String.self,
          onRecord: { request, context in
            context.state = (context.state ?? 0) + 1
            for time in request.set { context.setTimer(at: .at(time)) }
            for time in request.delete { context.deleteTimer(at: .at(time)) }
          },
          onTimer: { time, context in
            context.emit("\(try context.key(as: String.self))@\(time.microseconds)")
            if let next = again(time.microseconds) { context.setTimer(at: .at(next)) }
          }
        ).sink(sink)
    }
  }

  @Test func timersFireOnceEachInTheOrderOfTime() throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    source.append(Request(key: "A", set: [10]), at: .at(0))
    source.append(Request(key: "A", set: [10, 5]), at: .at(0))
    source.append(Request(key: "B", set: [7]), at: .at(0))
    source.append(Request(key: "C"), at: .at(11))
    try JobRunner(
      Self.job(source, sink), checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)
    ).runBlocking()
    #expect(sink.committed == ["A@5", "B@7", "A@10"])
  }

  @Test func aDeletedTimerNeverFires() throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    source.append(Request(key: "A", set: [5, 6], delete: [5]), at: .at(0))
    source.append(Request(key: "B", set: [5]), at: .at(0))
    source.append(Request(key: "B", delete: [5]), at: .at(0))
    source.append(Request(key: "D", set: [5]), at: .at(0))
    source.append(Request(key: "D", delete: [5]), at: .at(0))
    source.append(Request(key: "D", set: [5]), at: .at(0))
    try JobRunner(
      Self.job(source, sink), checkpoints: store.checkpoints, options: RunOptions(mode: .drain, batchSize: 1)
    ).runBlocking()
    #expect(sink.committed == ["D@5", "A@6"])
  }

  @Test func aTimerForATimeThatHasPassedFiresBeforeTheWatermarkMovesOn() throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    // At 10 another one is set for 3, which has passed.
    let job = try Self.job(source, sink, again: { $0 == 10 ? 3 : nil })
    source.append(Request(key: "A", set: [10]), at: .at(0))
    source.append(Request(key: "A"), at: .at(11))
    try JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    #expect(sink.committed == ["A@10", "A@3"])
  }

  @Test func aTimerThatSetsItselfAgainEndsWithTheInput() throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests")
    let sink = CollectSink<String>("out")
    let job = try Self.job(source, sink, again: { $0 + 10 })
    source.append(Request(key: "A", set: [10]), at: .at(0))
    source.append(Request(key: "B"), at: .at(35))
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .drain))
    #expect(try runner.runBlocking() == .drained)
    // To 34 by the ordinary rules, then everything that waits, once.
    #expect(sink.committed == ["A@10", "A@20", "A@30", "A@40"])
    #expect(runner.metrics?.named("timers")?.discardedTimers == 1)
    #expect(throws: DataflowError.self) { try runner.runBlocking() }
  }

  @Test func timersLiveThroughACrashAndARescale() throws {
    let store = try TestStore()
    let source = MemorySource<Request>("requests", partitions: 2)
    let sink = CollectSink<String>("out")
    let job = try Self.job(source, sink)
    let keys = (0..<40).map { "key\($0)" }
    for (index, key) in keys.enumerated() {
      source.append(Request(key: key, set: [Int64(10 + index)]), at: .at(1), partition: index % 2)
    }
    for parallelism in [4, 1, 3] {
      let driver = try JobDriver(
        job, checkpoints: store.checkpoints,
        options: RunOptions(parallelism: parallelism, checkpoints: .everyRecords(1)))
      try driver.runUntilIdle()
      driver.crash()
      #expect(sink.committed == [])
    }
    for partition in 0..<2 { source.append(Request(key: "end"), at: .at(100), partition: partition) }
    let driver = try JobDriver(
      job, checkpoints: store.checkpoints, options: RunOptions(parallelism: 2, checkpoints: .everyRecords(1)))
    try driver.runUntilIdle()
    try driver.stop()
    #expect(sink.committed.sorted() == keys.enumerated().map { "\($1)@\(10 + $0)" }.sorted())
  }
}
