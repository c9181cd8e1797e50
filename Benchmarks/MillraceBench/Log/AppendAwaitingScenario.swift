import Millrace

extension LogScenarios {
  static let appendAwaiting = Scenario(
    name: "log-append-awaiting",
    summary: "tasks that each await the durable append of one 100-byte record at a time; producers=64",
    defaultSize: 200_000
  ) { options in
    try await awaiting(options, "log-append-awaiting", producers: max(1, options.integer("producers", 64)))
  }

  static let appendUnbatched = Scenario(
    name: "log-append-unbatched",
    summary: "one task awaits the durable append of one 100-byte record at a time: a commit and a sync each",
    defaultSize: 5_000
  ) { options in
    try await awaiting(options, "log-append-unbatched", producers: 1)
  }

  private static func awaiting(
    _ options: Scenario.Options, _ name: String, producers: Int
  ) async throws -> Measurement {
    let topic = try topic(options)
    let records = BenchRecords().arrays()
    // The first append opens files and starts the writer's thread.
    try await topic.append(key: nil, value: [], timestamp: Timestamp(microseconds: 0))
    let watch = Stopwatch()
    let latencies = try await withThrowingTaskGroup(of: [Int64].self) { group in
      for producer in 0..<producers {
        let count = options.size / producers + (producer < options.size % producers ? 1 : 0)
        group.addTask {
          var latencies: [Int64] = []
          latencies.reserveCapacity(count)
          for index in 0..<count {
            let record = records[(producer &* 127 &+ index) & (records.count - 1)]
            let start = Nanoseconds.now()
            try await topic.append(
              key: record.key, value: record.value, timestamp: Timestamp(microseconds: Int64(index)))
            latencies.append(Nanoseconds.now() - start)
          }
          return latencies
        }
      }
      var all: [Int64] = []
      for try await some in group { all += some }
      return all
    }
    return watch.measurement(
      name, events: options.size, latencies: latencies,
      settings: [
        "recordBytes": "100", "recordsPerAppend": "1", "producers": "\(producers)",
        "partitions": "\(topic.partitions)", "durability": "synced before acknowledge", "latency": "per append",
      ], facts: ["end": "\(try topic.offsets().map(\.upperBound).reduce(0, +))"])
  }
}
