import Bytes
import Dataflow
import Foundation
import Synchronization
import Testing

/// What calls of a test do and how many there are of them at once.
final class Service: Sendable {
  struct Refused: Error {}

  private struct State {
    var calls: [Int64: Int] = [:]
    var current = 0
    var most = 0
    var cancelled = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// How often each record was called for.
  var calls: [Int64: Int] { state.withLock { $0.calls } }
  var callCount: Int { state.withLock { $0.calls.values.reduce(0, +) } }
  /// The most calls that there were at once.
  var most: Int { state.withLock { $0.most } }
  var cancelled: Int { state.withLock { $0.cancelled } }

  /// Counts the call; returns which time it is for the record.
  @discardableResult
  func begin(_ number: Int64) -> Int {
    state.withLock { state in
      state.calls[number, default: 0] += 1
      state.current += 1
      state.most = max(state.most, state.current)
      return state.calls[number, default: 0]
    }
  }

  func end() { state.withLock { $0.current -= 1 } }

  /// Lets other calls pass for a while.
  func linger(_ number: Int64) async { for _ in 0..<Int(number % 7) { await Task.yield() } }

  /// Waits until it is cancelled.
  func hang() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = state.withLock { state in
          if !Task.isCancelled { state.waiting.append(continuation) }
          return Task.isCancelled
        }
        if isCancelled { continuation.resume() }
      }
    } onCancel: {
      // Whoever waits is woken; a test has one that hangs at a time.
      let waiting = state.withLock { state in
        state.cancelled += 1
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }
}

/// Runs `body` on a thread of its own.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}

@Suite(.serialized) struct AsyncMapTests {
  /// Steps, and lets calls go on, until `condition` holds.
  private func step(_ driver: JobDriver, until condition: () -> Bool) async throws {
    while !condition() {
      if try !driver.step() { await Task.yield() }
    }
  }

  /// Each result once, whatever crashes; no record behind its watermark; in order where that is asked for.
  @Test(arguments: 0..<12) func everyRecordHasItsResultOnce(seed: UInt64) async throws {
    // The driver's steps must not keep a thread of the pool from the calls.
    try await onThread { try Self.checkResults(seed) }
  }

  private static func checkResults(_ seed: UInt64) throws {
    print("seed \(seed)")
    var random = Random(seed + 600)
    let store = try TestStore()
    let partitions = Int.random(in: 1...3, using: &random)
    let source = MemorySource<Int64>("numbers", partitions: partitions)
    let (sink, failed) = (CollectSink<Int64>("out"), CollectSink<Int64>("failed"))
    let late = CollectSink<Int64>("late ones")
    let service = Service()
    let dead = SideOutput<DeadLetter<Int64>>("dead")
    let isOrdered = seed % 2 == 0
    for number in 0..<Int64(150) {
      // A key's records lie in one partition.
      source.append(number, at: .at(number), partition: Int(number % 5) % partitions)
    }
    let isKeyed = seed % 4 < 2
    let options = AsyncOptions(
      capacity: Int.random(in: 1...20, using: &random), order: isOrdered ? .ordered : .unordered, attempts: 2,
      backoff: .fixed(.zero))
    let job = try Job("job") { flow in
      let numbers = flow.from(source)
      let results = (isKeyed ? numbers.keyed(by: { $0 % 5 }).stream : numbers)
        .asyncMap("call", options, onError: .deadLetter(dead)) { number in
          let time = service.begin(number)
          defer { service.end() }
          await service.linger(number)
          // Some fail the first time, some always.
          if number % 10 == 3 || (number % 10 == 4 && time == 1) { throw Service.Refused() }
          return number * 2
        }
      results.sink(sink)
      results.keyed(by: { $0 / 2 % 5 }).process(
        "late", state: Int64.self, emitting: Int64.self,
        onRecord: { number, call in
          if call.timestamp <= call.watermark { call.emit(number) }
          if isOrdered && isKeyed, let last = call.state, last > number { call.emit(number) }
          call.state = number
        }
      ).sink(late)
      flow.from(dead).compactMap { $0.element }.sink(failed)
    }
    try disturb(job, store, &random)
    let good = (0..<Int64(150)).filter { $0 % 10 != 3 }.map { $0 * 2 }
    #expect(sink.committed.sorted() == good)
    #expect(failed.committed.sorted() == (0..<Int64(150)).filter { $0 % 10 == 3 })
    #expect(late.committed == [])
  }

  @Test(arguments: [AsyncOptions.Order.ordered, .unordered]) func noMoreCallsAtOnceThanMayBe(
    order: AsyncOptions.Order
  ) async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    let service = Service()
    for number in 0..<Int64(2_000) { source.append(number, at: .at(number)) }
    let job = try Job("job") { flow in
      flow.from(source).asyncMap("call", AsyncOptions(capacity: 8, order: order)) { number in
        service.begin(number)
        await service.linger(number)
        service.end()
        return number
      }.sink(sink)
    }
    let runner = JobRunner(
      job, checkpoints: store.checkpoints,
      options: RunOptions(mode: .drain, checkpoints: .everyRecords(100), batchSize: 64))
    #expect(try await runner.run() == .drained)
    #expect(order == .ordered ? sink.committed == Array(0..<2_000) : sink.committed.sorted() == Array(0..<2_000))
    #expect(service.most <= 8)
    #expect(service.callCount == 2_000)
  }

  @Test func whatIsUnderWayAtABarrierIsCalledAgainAfterACrash() async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    let service = Service()
    for number in 0..<Int64(3) { source.append(number, at: .at(number)) }
    let job = try Job("job") { flow in
      flow.from(source).asyncMap("call", AsyncOptions(capacity: 10, order: .unordered)) { number in
        if service.begin(number) == 1 && number == 1 { await service.hang() }
        return number
      }.sink(sink)
    }
    let options = RunOptions(checkpoints: .everyRecords(1))
    let driver = try JobDriver(job, checkpoints: store.checkpoints, options: options)
    try await step(driver) { sink.committed.count == 2 && service.callCount == 3 }
    // The source's position is behind all three; the record that hangs is in the checkpoint.
    #expect(try store.checkpoints.job("job")?.sources["numbers"]?.first?.position == 3)
    driver.crash()
    try await step(driver) { service.cancelled == 1 }
    let second = try JobDriver(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    try await step(second) { second.isFinished }
    try second.stop()
    #expect(sink.committed.sorted() == [0, 1, 2])
    #expect(service.calls == [0: 1, 1: 2, 2: 1])
    // Nothing is left of it.
    let third = try JobDriver(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    try await step(third) { third.isFinished }
    #expect(service.callCount == 4)
  }

  @Test func aStopDoesNotWaitAndTheNextRunGoesOn() async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    let service = Service()
    source.append(7, at: .at(0))
    let job = try Job("job") { flow in
      flow.from(source).asyncMap("call") { number in
        if service.begin(number) == 1 { await service.hang() }
        return number
      }.sink(sink)
    }
    let driver = try JobDriver(job, checkpoints: store.checkpoints, options: RunOptions(checkpoints: .atEnd))
    try await step(driver) { service.callCount == 1 }
    try driver.stop()
    #expect(sink.committed == [])
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    #expect(try await runner.run() == .stopped)
    #expect(sink.committed == [7])
    #expect(service.cancelled == 1)
  }

  @Test func aCallThatTakesTooLongIsGivenUpAndTriedAgainAfterAPause() async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let (sink, failed) = (CollectSink<Int64>("out"), CollectSink<String>("failed"))
    let service = Service()
    let clock = ManualClock()
    let dead = SideOutput<DeadLetter<Int64>>("dead")
    source.append(1, at: .at(0))
    let options = AsyncOptions(
      timeout: .units(100), attempts: 3, backoff: .exponential(initial: .units(10), factor: 2, maximum: .units(1000)))
    let job = try Job("job") { flow in
      flow.from(source).asyncMap("call", options, onError: .deadLetter(dead)) { number in
        service.begin(number)
        await service.hang()
        return number
      }.sink(sink)
      flow.from(dead).map { $0.reason }.sink(failed)
    }
    let driver = try JobDriver(
      job, checkpoints: store.checkpoints, options: RunOptions(checkpoints: .everyRecords(1), clock: clock))
    for (attempt, pause) in [10, 20, nil].enumerated() {
      try await step(driver) { service.callCount == attempt + 1 }
      clock.advance(by: .units(99))
      try driver.runUntilIdle()
      #expect(service.cancelled == attempt)
      clock.advance(by: .units(1))
      try await step(driver) { service.cancelled == attempt + 1 }
      guard let pause else { break }
      clock.advance(by: .units(Int64(pause) - 1))
      try driver.runUntilIdle()
      for _ in 0..<50 { await Task.yield() }
      #expect(service.callCount == attempt + 1)
      clock.advance(by: .units(1))
    }
    try await step(driver) { !failed.committed.isEmpty }
    #expect(failed.committed == ["\(AsyncTimeout(limit: .units(100)))"])
    #expect(sink.committed == [])
    try driver.stop()
  }

  @Test func anErrorFailsTheJobUnlessThePolicySaysOtherwise() async throws {
    let store = try TestStore()
    let source = MemorySource<Int64>("numbers")
    let sink = CollectSink<Int64>("out")
    source.append(1, at: .at(0))
    let job = try Job("job") { flow in
      flow.from(source).asyncMap("call") { (_: Int64) -> Int64 in throw Service.Refused() }.sink(sink)
    }
    let runner = JobRunner(job, checkpoints: store.checkpoints, options: RunOptions(mode: .toEnd))
    await #expect {
      try await runner.run()
    } throws: { ($0 as? DataflowError)?.code == .operatorFailed && ($0 as? DataflowError)?.subject == "call" }
  }
}
