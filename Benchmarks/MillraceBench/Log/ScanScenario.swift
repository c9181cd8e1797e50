import Millrace

extension LogScenarios {
  static let scan = Scenario(
    name: "log-scan",
    summary: "every 100-byte record visited, CRC checked, warm, best of scans=3; partitions=1, checksums=trusted",
    defaultSize: 10_000_000
  ) { options in
    let topic = try topic(options)
    // With --folder the records of an earlier run are there already.
    if try topic.offsets().map(\.upperBound).reduce(0, +) < Int64(options.size) {
      try BenchRecords(isText: options.settings["data"] == "text").fill(topic, options.size)
    }
    let checksums: LogReader.Checksums =
      options.settings["checksums"] == "trusted" ? .trustBecauseVerifiedByThisProcess : .verify
    _ = try BenchRecords.visit(topic, .verify)
    var best: Measurement?
    for _ in 0..<max(1, options.integer("scans", 3)) {
      let watch = Stopwatch()
      let (count, sum) = try BenchRecords.visit(topic, checksums)
      let measured = watch.measurement(
        "log-scan", events: count,
        settings: [
          "recordBytes": "100", "recordsPerBatch": "1000", "checksums": checksums == .verify ? "verified" : "trusted",
          "partitions": "\(topic.partitions)",
        ],
        facts: ["sum": String(sum, radix: 16), "file": try topic.describe().segments.first?.path ?? ""])
      if measured.eventsPerSecond > best?.eventsPerSecond ?? 0 { best = measured }
    }
    return best ?? Stopwatch().measurement("log-scan", events: 0, settings: [:])
  }
}
