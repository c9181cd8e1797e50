import Millrace

/// Appending to and reading from the log as it is, without a codec.
enum LogScenarios {
  static let recordBytes = 100

  static let append = Scenario(
    name: "log-append", summary: "100-byte records, 1,000 per batch, 10 batches per commit, synced",
    defaultSize: 10_000_000
  ) { options in
    let log = try EventLog.open(at: options.folder + "/log", LogOptions(batchBytes: 128 << 10, commitBytes: 1_000_000))
    let topic = try log.topic(
      "bench", TopicOptions(partitions: options.integer("partitions", 1), segmentBytes: 1 << 30))
    let watch = Stopwatch()
    try fill(topic, options.size)
    return watch.measurement(
      "log-append", events: options.size,
      settings: ["recordBytes": "100", "recordsPerBatch": "1000", "durability": "synced before acknowledge"],
      facts: ["end": "\(try topic.offsets().map(\.upperBound).reduce(0, +))"])
  }

  static let scan = Scenario(
    name: "log-scan", summary: "every 100-byte record visited, CRC checked, warm", defaultSize: 10_000_000
  ) { options in
    let log = try EventLog.open(at: options.folder + "/log")
    let topic = try log.topic("bench", TopicOptions(segmentBytes: 1 << 30))
    try fill(topic, options.size)
    _ = try visit(topic)
    let watch = Stopwatch()
    let (count, sum) = try visit(topic)
    return watch.measurement(
      "log-scan", events: count, settings: ["recordBytes": "100", "recordsPerBatch": "1000", "checksums": "verified"],
      facts: ["sum": String(sum, radix: 16)])
  }

  /// Appends `count` records of 8 bytes of key and 92 of value.
  static func fill(_ topic: LogTopic, _ count: Int) throws {
    var appender = try topic.makeAppender(recordsPerBatch: 1000)
    var pool = [UInt64](repeating: 0, count: 1 << 16)
    var random = SplitMix64(seed: 1)
    for index in pool.indices { pool[index] = random.next() }
    try unsafe pool.withUnsafeBytes { pool in
      for index in 0..<count {
        let start = index &* 96 & (pool.count - 1) & ~7
        let offset = start + 104 > pool.count ? 0 : start
        try unsafe appender.append(
          key: UnsafeRawBufferPointer(rebasing: pool[offset..<offset + 8]),
          value: UnsafeRawBufferPointer(rebasing: pool[offset + 8..<offset + 100]),
          timestamp: Timestamp(microseconds: Int64(index)))
      }
    }
    try appender.flushBlocking()
  }

  private static func visit(_ topic: LogTopic) throws -> (Int, UInt64) {
    let reader = try topic.reader(partition: 0, from: 0)
    var count = 0
    var sum: UInt64 = 0
    while true {
      let read = try reader.read(maxBytes: 4 << 20) { batch in
        for record in batch {
          sum &+= unsafe record.value.loadUnaligned(as: UInt64.self)
          count += 1
        }
      }
      if read == 0 { return (count, sum) }
    }
  }
}
