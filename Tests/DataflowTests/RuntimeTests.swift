import Bytes
import Dataflow
import Synchronization
import Testing

@Suite struct RuntimeTests {
  private func sums(_ source: MemorySource<Int64>, _ sink: CollectSink<Int64>) throws -> Job {
    try Job("job") { flow in
      flow.from(source).keyed(by: { $0 % 17 }).fold("sum", initial: Int64(0)) { $0 += $1 }.sink(sink)
    }
  }

  private func expectation(_ numbers: [Int64]) -> [Int64] {
    var sums: [Int64: Int64] = [:]
    return numbers.map { number in
      sums[number % 17, default: 0] += number
      return sums[number % 17, default: 0]
    }
  }

  @Test(arguments: [1, 2, 3, 8]) func anyParallelismGivesTheSame(parallelism: Int) async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers", partitions: 4)
    let sink = CollectSink<Int64>("out")
    let numbers = (0..<20_000).map { Int64($0) }
    for number in numbers { source.append(number, at: .at(number), partition: Int(number % 17 % 4)) }
    let runner = JobRunner(
      try sums(source, sink), checkpoints: store.checkpoints,
      options: RunOptions(
        mode: .drain, parallelism: parallelism, checkpoints: .everyRecords(3_000), batchSize: 700, queueLimit: 100))
    #expect(try await runner.run() == .drained)
    #expect(sink.committed.sorted() == expectation(numbers).sorted())
    let metrics = try #require(runner.metrics)
    #expect(metrics.named("sum")?.recordsIn == 20_000)
    #expect(metrics.named("sum")?.recordsOut == 20_000)
    #expect(metrics.checkpoints.count >= 1)
    #expect(metrics.checkpoints.lastCheckpoint == (try store.checkpoints.lastCheckpoint()))
  }

  @Test func cancellingStopsWithALastCheckpoint() async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    let runner = JobRunner(
      try sums(source, sink), checkpoints: store.checkpoints, options: RunOptions(checkpoints: .atEnd))
    let reached = AsyncStream.makeStream(of: Void.self)
    source.append(1, at: .at(0))
    let watched = try Job("watched") { flow in flow.from(source).forEach("x") { _ in reached.continuation.yield() } }
    let watcher = JobRunner(watched, checkpoints: store.checkpoints)
    let tasks = [Task { try await runner.run() }, Task { try await watcher.run() }]
    for await _ in reached.stream { break }
    for task in tasks { task.cancel() }
    for task in tasks { #expect(try await task.value == .stopped) }
    #expect(try store.checkpoints.job("watched")?.status == .stopped)
    #expect(try store.checkpoints.job("watched")?.sources["numbers"]?.first?.position == 1)
    // A stop belongs to one run: the next one runs.
    source.append(2, at: .at(0))
    let rest = JobRunner(try sums(source, sink), checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    #expect(try await rest.run() == .stopped)
    #expect(sink.committed == [1, 2])
  }

  @Test func oneNameRunsOnce() async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let reached = AsyncStream.makeStream(of: Void.self)
    let job = try Job("job") { flow in flow.from(source).forEach("x") { _ in reached.continuation.yield() } }
    source.append(1, at: .at(0))
    let first = JobRunner(job, checkpoints: store.checkpoints)
    let task = Task { try await first.run() }
    for await _ in reached.stream { break }
    let second = JobRunner(job, checkpoints: store.checkpoints)
    await #expect {
      try await second.run()
    } throws: {
      ($0 as? DataflowError)?.code == .alreadyRunning
    }
    first.stop()
    #expect(try await task.value == .stopped)
  }

  struct Refused: Error {}

  @Test(arguments: [1, 3]) func aFailingRunGoesOnFromItsLastCheckpoint(parallelism: Int) async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    for number in 0..<200 { source.append(Int64(number), at: .at(0)) }
    let failures = Mutex(3)
    let job = try Job("job") { flow in
      flow.from(source).map("fragile") { number in
        if number == 150,
          failures.withLock({ left in
            left -= 1
            return left >= 0
          })
        {
          throw Refused()
        }
        return number
      }.keyed(by: { $0 % 17 }).fold("sum", initial: Int64(0)) { $0 += $1 }.sink(sink)
    }
    let runner = JobRunner(
      job, checkpoints: store.checkpoints,
      options: RunOptions(
        mode: .toEnd, parallelism: parallelism, checkpoints: .everyRecords(20),
        restart: .fixedDelay(.zero, attempts: 5), batchSize: 10))
    #expect(try await runner.run() == .stopped)
    #expect(runner.metrics?.restarts == 3)
    #expect(sink.committed.sorted() == expectation((0..<200).map { Int64($0) }).sorted())
  }

  @Test func withoutAPolicyTheErrorNamesTheOperator() async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    source.append(1, at: .at(0))
    let job = try Job("job") { flow in flow.from(source).forEach("fragile") { _ in throw Refused() } }
    await #expect {
      try await JobRunner(job, checkpoints: store.checkpoints).run()
    } throws: {
      let error = $0 as? DataflowError
      return error?.code == .operatorFailed && error?.subject == "fragile" && error?.cause is Refused
    }
  }

  @Test func skippedRecordsAreCountedAndLeaveNoTrace() async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    for number in 1...6 { source.append(Int64(number), at: .at(0)) }
    let job = try Job("job") { flow in
      flow.from(source)
        .expand("twice", into: Int64.self, onError: .skip) { number, output in
          output.append(number)
          if number == 2 { throw Refused() }
          output.append(number)
        }
        .keyed(by: { _ in UInt8(0) })
        .process(
          "sum", state: Int64.self, emitting: Int64.self, onError: .skip,
          onRecord: { number, context in
            context.state = (context.state ?? 0) + number
            context.emit(context.state ?? 0)
            if number == 3 { throw Refused() }
          }
        ).sink(sink)
    }
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    try await runner.run()
    #expect(sink.committed == [1, 2, 6, 10, 15, 20, 26, 32])
    #expect(runner.metrics?.named("twice")?.skipped == 1)
    #expect(runner.metrics?.named("sum")?.skipped == 2)
  }

  @Test func aFullFileFailsTheRunAndKeepsTheLastCheckpoint() async throws {
    let store = try TestStore(mapSize: 1 << 20)
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    let job = try Job("job") { flow in
      flow.from(source).keyed(by: { $0 }).fold("sum", initial: [UInt8]()) { bytes, number in
        bytes = Array(repeating: UInt8(truncatingIfNeeded: number), count: 1000)
      }.map { Int64($0.count) }.sink(sink)
    }
    let options = RunOptions(mode: .toEnd, checkpoints: .atEnd)
    source.append(0, at: .at(0))
    try await JobRunner(job, checkpoints: store.checkpoints, options: options).run()
    for number in 1...2000 { source.append(Int64(number), at: .at(0)) }
    await #expect {
      try await JobRunner(job, checkpoints: store.checkpoints, options: options).run()
    } throws: {
      let error = $0 as? DataflowError
      return error?.code == .checkpointFailed && error?.isRetriable == true
    }
    let record = try #require(try store.checkpoints.job("job"))
    #expect(record.sources["numbers"]?.first?.position == 1)
    #expect(sink.committed.count == 1)
  }
}
