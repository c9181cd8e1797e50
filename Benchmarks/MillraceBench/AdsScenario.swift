import AdsCore
import Millrace

/// The ads example's own load test, as a scenario.
enum AdsScenario {
  static let select = Scenario(
    name: "ads-select", summary: "ad selections by readers at full speed beside the running job; --size in ms",
    defaultSize: 10_000
  ) { options in
    var test = LoadTest(store: options.folder + "/ads.store")
    test.seconds = max(1, min(options.size / 1000, 60))
    test.readers = options.integer("readers", 1)
    test.parallelism = options.integer("parallelism", 1)
    let watch = Stopwatch()
    let result = try await test.run()
    let times = result.latencies.percentiles([0.5, 0.95, 0.99, 1])
    var measurement = watch.measurement(
      "ads-select", events: result.latencies.count,
      settings: [
        "readers": "\(result.readers)", "parallelism": "\(test.parallelism)", "seconds": "\(test.seconds)",
        "query": "ten best products for a household, category contains a text",
      ],
      facts: [
        "ads": "\(result.ads)", "fedMeanwhile": "\(result.fed)", "checkpoints": "\(result.checkpoints)",
        "snapshotsCompared": "\(result.compared)",
      ])
    measurement.latencyMicroseconds = ["p50": times[0], "p95": times[1], "p99": times[2], "max": times[3]]
    return measurement
  }
}
