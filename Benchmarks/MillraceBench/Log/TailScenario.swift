import Dispatch
import Foundation
import Millrace

extension LogScenarios {
  static let tail = Scenario(
    name: "log-tail",
    summary: "from the call of append until a consumer in this process has the record, synced; face=tasks or threads",
    defaultSize: 5_000
  ) { options in
    let topic = try topic(options)
    let probe = try DiskProbe(folder: options.folder)
    let face = options.settings["face"] ?? "tasks"
    try await topic.append(key: nil, value: [], timestamp: Timestamp(microseconds: 0))
    let watch = Stopwatch()
    let latencies: [Int64]
    switch face {
    case "tasks": latencies = try await tailWithTasks(topic, options.size, probe)
    case "threads": latencies = try tailWithThreads(topic, options.size, probe)
    default: throw BenchCommand.UsageError(message: "face= takes tasks or threads, not \(face)")
    }
    return watch.measurement(
      "log-tail", events: latencies.count, latencies: latencies,
      settings: [
        "recordBytes": "100", "face": face, "durability": "synced before it is seen",
        "pace": "the next append follows when the consumer has the last",
      ], facts: probe.facts(beside: latencies))
  }

  /// Rounds between two looks at the disk.
  private static let stretch = 50

  private static func tailWithTasks(_ topic: LogTopic, _ rounds: Int, _ probe: DiskProbe) async throws -> [Int64] {
    var iterator = topic.records(partition: 0, from: try topic.endOffset(0), tailing: true).makeAsyncIterator()
    var latencies: [Int64] = []
    let value = [UInt8](repeating: 9, count: BenchRecords.recordBytes)
    for round in 0..<rounds {
      if round % stretch == 0 { try probe.run(stretch) }
      let start = Nanoseconds.now()
      async let appended = topic.append(key: nil, value: value, timestamp: Timestamp(microseconds: 0))
      _ = try await iterator.next()
      latencies.append(Nanoseconds.now() - start)
      _ = try await appended
    }
    return latencies
  }

  private static func tailWithThreads(_ topic: LogTopic, _ rounds: Int, _ probe: DiskProbe) throws -> [Int64] {
    let reader = try topic.reader(partition: 0, from: try topic.endOffset(0))
    let producer = BlockingProducer(topic)
    defer { producer.stop() }
    var latencies: [Int64] = []
    for round in 0..<rounds {
      if round % stretch == 0 { try probe.run(stretch) }
      let start = Nanoseconds.now()
      producer.append()
      while try reader.read({ _ in }) == 0 { _ = try reader.wait(timeout: .seconds(1)) }
      latencies.append(Nanoseconds.now() - start)
    }
    return latencies
  }
}

/// A thread that appends a record whenever it is asked to.
// Invariant of `@unchecked Sendable`: semaphores hand `isStopped` over.
private final class BlockingProducer: @unchecked Sendable {
  private let asked = DispatchSemaphore(value: 0)
  private var isStopped = false

  init(_ topic: LogTopic) {
    let value = [UInt8](repeating: 9, count: BenchRecords.recordBytes)
    Thread.detachNewThread { [self] in
      while true {
        asked.wait()
        if isStopped { return }
        _ = try? topic.appendBlocking(key: nil, value: value, timestamp: Timestamp(microseconds: 0))
      }
    }
  }

  func append() { asked.signal() }

  func stop() {
    isStopped = true
    asked.signal()
  }
}
