import Foundation
import Millrace

extension Program {
  /// `ads serve-load`: half of the month is there when the readers begin, the other half comes while they read.
  func serveLoad(_ options: Options) async throws {
    if options.fresh { try StoreFolder.remove(options.store) }
    let data = data(options)
    let ads = try AdsStore(at: options.store)
    guard try ads.content(expecting: data) == .nothing else {
      throw AdsError(
        .badInput, "the store holds events already, and the load test feeds its own", at: .init(file: options.store),
        remedy: "Begin again with --fresh, or give another --store")
    }
    let runner = try ads.store.runner(for: try ads.materialize(), RunOptions(parallelism: options.parallelism))
    async let running = ads.store.run(runner)
    var outcomes: [LoadReader.Outcome] = []
    var fed = 0
    do {
      var feeder = try Feeder(ads, data)
      try await feeder.advance(to: Self.halfTime)
      try await caughtUp(ads, data)
      note("Half of the month is in the views; reading for \(options.seconds) s")
      (outcomes, fed) = try await read(ads, data, &feeder, options)
    } catch {
      runner.stop()
      _ = try await running
      throw error
    }
    runner.stop()
    _ = try await running
    say(Self.loadReport(outcomes, fed: fed, runner.metrics, options))
    ads.store.close()
  }

  static let halfTime = Day(year: 2017, month: 5, day: 16).start

  /// Lets readers run while the rest of the month is fed evenly over the time given.
  private func read(
    _ ads: AdsStore, _ data: DataSet, _ feeder: inout Feeder, _ options: Options
  ) async throws -> ([LoadReader.Outcome], fed: Int) {
    let households = Set(try data.campaignEvents().filter { $0.kind == .targeted }.map(\.household)).sorted()
    let control = LoadControl(now: Self.halfTime)
    let before = feeder.count
    return try await withThrowingTaskGroup(of: LoadReader.Outcome.self) { group in
      defer { control.finish() }
      let readers = options.readers ?? max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
      for number in 0..<readers {
        let reader = LoadReader(ads: ads, households: households, control: control, seed: UInt64(number + 1))
        group.addTask { try await reader.runOnThread() }
      }
      let steps = options.seconds * 20
      let span = DataSet.lastDay.next.start.microseconds(since: Self.halfTime)
      let clock = ContinuousClock()
      let start = clock.now
      for step in 1...steps {
        let time = Self.halfTime.advanced(byMicroseconds: span / Int64(steps) * Int64(step))
        try await feeder.advance(to: time)
        control.move(to: time.advanced(byMicroseconds: -1))
        try await clock.sleep(until: start + .milliseconds(50 * step))
      }
      control.finish()
      var outcomes: [LoadReader.Outcome] = []
      for try await outcome in group { outcomes.append(outcome) }
      return (outcomes, feeder.count - before)
    }
  }

  /// Returns when the views hold every purchase that was fed.
  private func caughtUp(_ ads: AdsStore, _ data: DataSet) async throws {
    let fed = try ads.purchases.log.offsets().reduce(0) { $0 + $1.upperBound }
    while try ads.read({ try $0.purchasesInViews() }) < fed { try await Task.sleep(for: .milliseconds(20)) }
  }

  private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

  static func loadReport(
    _ outcomes: [LoadReader.Outcome], fed: Int, _ metrics: JobMetrics?, _ options: Options
  ) -> String {
    var latencies = Latencies()
    for outcome in outcomes { latencies.add(outcome.latencies) }
    let times = latencies.percentiles([0.5, 0.95, 0.99, 1]).map { rounded($0) }
    let ads = outcomes.reduce(0) { $0 + $1.ads }
    let compared = outcomes.reduce(0) { $0 + $1.compared }
    let seconds = Double(options.seconds)
    return """
      \(Money.grouped(latencies.count)) ad selections by \(Self.count(outcomes.count, "reader")) \
      in \(options.seconds) s \
      (\(rate(latencies.count, seconds))/s), \(Money.grouped(ads)) ads
      \(Money.grouped(fed)) events came in meanwhile (\(rate(fed, seconds))/s), \
      \(Money.grouped(metrics?.checkpoints.count ?? 0)) checkpoints
      \(Money.grouped(compared)) snapshots compared: products and households always agree

        selection     p50 \(times[0]) µs   p95 \(times[1]) µs   p99 \(times[2]) µs   max \(times[3]) µs
      """
  }
}
