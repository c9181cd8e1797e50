import Foundation
import Millrace
import Synchronization

/// A process is killed with a million keys of state; the next one opens the store, runs the job and waits for its first
/// new result.
enum RecoveryScenario {
  static let recovery = Scenario(
    name: "recovery", summary: "kill -9 with 1 M keys of state, then time to the first new record",
    defaultSize: 1_000_000
  ) { options in
    let path = options.folder + "/store"
    try runVictim(path, keys: options.size)
    let watch = Stopwatch()
    let start = ContinuousClock.now
    let store = try Store.open(at: path)
    let topic = try StateScenarios.amounts(store, partitions: 1)
    try await topic.append(AmountEvent(key: 1, amount: 1))
    let first = FirstSink()
    let job = try Job("keyed-sum") { flow in
      flow.from(topic).keyed().fold("sum", initial: Int64(0)) { sum, event in sum &+= event.amount }.sink(first)
    }
    let runner = try store.runner(for: job, RunOptions(checkpoints: .every(.milliseconds(50))))
    let run = Task { try await store.run(runner) }
    let value = await first.wait()
    let elapsed = ContinuousClock.now - start
    let measurement = watch.measurement(
      "recovery", events: 1, latencies: [Int64(elapsed / .nanoseconds(1))],
      settings: ["keys": "\(options.size)", "end": "kill -9 of the process that built the state"],
      facts: ["firstValue": "\(value)"])
    runner.stop()
    _ = try await run.value
    return measurement
  }

  /// The name under which this program builds the state and waits to be killed.
  static let victimCommand = "recovery-victim"

  private static func runVictim(_ path: String, keys: Int) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
    process.arguments = [victimCommand, path, String(keys)]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    // It says so when every key is in a checkpoint, and goes on.
    let line = output.fileHandleForReading.availableData
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    guard String(decoding: line, as: UTF8.self).hasPrefix("ready") else {
      throw StoreError(.io, path: path, detail: "the process that was to be killed ended by itself")
    }
  }

  static func victim(_ path: String, keys: Int) async throws {
    let store = try Store.open(at: path)
    let topic = try StateScenarios.amounts(store, partitions: 1)
    var appender = try topic.makeAppender(recordsPerBatch: 4000)
    for key in 0..<keys { try appender.append(AmountEvent(key: UInt64(key), amount: 1)) }
    try await appender.flush()
    let job = try StateScenarios.sumJob(topic, CountSink())
    try await store.run(job, RunOptions(mode: .toEnd))
    FileHandle.standardOutput.write(Data("ready\n".utf8))
    let runner = try store.runner(for: job, RunOptions(checkpoints: .every(.milliseconds(50))))
    try await store.run(runner)
  }
}

/// Tells the first value that a job sends.
private final class FirstSink: Sink {
  typealias Element = Int64
  let name = "count"
  private let stream: AsyncStream<Int64>
  fileprivate let continuation: AsyncStream<Int64>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1)) }

  func wait() async -> Int64 {
    for await value in stream { return value }
    return -1
  }

  func open(_ context: OperatorContext) throws -> Writer { Writer(self) }

  final class Writer: SinkWriter {
    typealias Element = Int64
    private let sink: FirstSink

    init(_ sink: FirstSink) { self.sink = sink }

    func write(_ batch: consuming Batch<Int64>) throws {
      if batch.count > 0 { sink.continuation.yield(batch[0]) }
    }
  }
}
