extension Program {
  /// `ads serve-load`: readers at full speed beside the running job.
  func serveLoad(_ options: Options) async throws {
    if options.fresh { try StoreFolder.remove(options.store) }
    var test = LoadTest(store: options.store)
    test.data = data(options)
    test.parallelism = options.parallelism
    test.seconds = options.seconds
    test.readers = options.readers
    say(Self.loadReport(try await test.run(note: note), seconds: options.seconds))
  }

  static func loadReport(_ result: LoadTest.Result, seconds: Int) -> String {
    let times = result.latencies.percentiles([0.5, 0.95, 0.99, 1]).map { rounded($0) }
    let selections = result.latencies.count
    return """
      \(Money.grouped(selections)) ad selections by \(count(result.readers, "reader")) in \(seconds) s \
      (\(rate(selections, Double(seconds)))/s), \(Money.grouped(result.ads)) ads
      \(Money.grouped(result.fed)) events came in meanwhile (\(rate(result.fed, Double(seconds)))/s), \
      \(Money.grouped(result.checkpoints)) checkpoints
      \(Money.grouped(result.compared)) snapshots compared: products and households always agree

        selection     p50 \(times[0]) µs   p95 \(times[1]) µs   p99 \(times[2]) µs   max \(times[3]) µs
      """
  }

  private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
