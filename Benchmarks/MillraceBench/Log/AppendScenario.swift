import Millrace

extension LogScenarios {
  static let append = Scenario(
    name: "log-append",
    summary: "100-byte records, 1,000 per batch, 10 batches per commit, synced; partitions=1 zstd= data=text",
    defaultSize: 10_000_000
  ) { options in
    let topic = try topic(options, LogOptions(batchBytes: 128 << 10, commitBytes: 1_000_000))
    let records = BenchRecords(isText: options.settings["data"] == "text")
    let watch = Stopwatch()
    try records.fill(topic, options.size)
    return watch.measurement(
      "log-append", events: options.size,
      settings: [
        "recordBytes": "100", "recordsPerBatch": "1000", "partitions": "\(topic.partitions)",
        "durability": "synced before acknowledge", "data": options.settings["data"] ?? "random",
        "zstd": options.settings["zstd"] ?? "none",
      ],
      facts: [
        "end": "\(try topic.offsets().map(\.upperBound).reduce(0, +))", "bytesOnDisk": "\(try topic.describe().bytes)",
      ])
  }

  static let appendSingle = Scenario(
    name: "log-append-single",
    summary: "100-byte records, one per batch, 1,000 batches per commit, synced", defaultSize: 1_000_000
  ) { options in
    // With its header and framing a record of 100 bytes takes about 108 in the queue.
    let topic = try topic(options, LogOptions(commitBytes: 108_000))
    let records = BenchRecords()
    let watch = Stopwatch()
    try records.fill(topic, options.size, recordsPerBatch: 1)
    return watch.measurement(
      "log-append-single", events: options.size,
      settings: [
        "recordBytes": "100", "recordsPerBatch": "1", "batchesPerCommit": "1000",
        "durability": "synced before acknowledge",
      ], facts: ["end": "\(try topic.offsets().map(\.upperBound).reduce(0, +))"])
  }
}
