import Foundation
import Millrace

/// Ad selections at full speed beside the running job: half of the month is in the views when the readers begin, the
/// other half is fed while they read.
package struct LoadTest: Sendable {
  package struct Result: Sendable {
    /// How long each selection took.
    package var latencies = Latencies()
    /// Ads found by them.
    package var ads = 0
    /// Snapshots in which the views were compared with each other.
    package var compared = 0
    /// Events fed meanwhile.
    package var fed = 0
    package var checkpoints = 0
    package var readers = 0
  }

  /// Where the store is, or is made. It must hold no events yet.
  package var store: String
  package var data = DataSet.standard()
  package var parallelism = 1
  package var seconds = 10
  /// Threads that read; nil: as many as leave the job a core.
  package var readers: Int?

  package init(store: String) { self.store = store }

  static let halfTime = Day(year: 2017, month: 5, day: 16).start

  /// Runs it; `note` is told when the readers begin.
  package func run(note: @Sendable (String) -> Void = { _ in }) async throws -> Result {
    let ads = try AdsStore(at: store)
    defer { ads.store.close() }
    guard try ads.content(expecting: data) == .nothing else {
      throw AdsError(
        .badInput, "the store holds events already, and the load test feeds its own", at: .init(file: store),
        remedy: "Begin again with --fresh, or give another --store")
    }
    let runner = try ads.store.runner(for: try ads.materialize(), RunOptions(parallelism: parallelism))
    async let running = ads.store.run(runner)
    var result: Result
    do {
      var feeder = try Feeder(ads, data)
      try await feeder.advance(to: Self.halfTime)
      try await caughtUp(ads)
      note("Half of the month is in the views; reading for \(seconds) s")
      result = try await read(ads, &feeder)
    } catch {
      runner.stop()
      _ = try await running
      throw error
    }
    runner.stop()
    _ = try await running
    result.checkpoints = runner.metrics?.checkpoints.count ?? 0
    return result
  }

  /// Lets readers run while the rest of the month is fed evenly over the time given.
  private func read(_ ads: AdsStore, _ feeder: inout Feeder) async throws -> Result {
    let households = Set(try data.campaignEvents().filter { $0.kind == .targeted }.map(\.household)).sorted()
    let control = LoadControl(now: Self.halfTime)
    let before = feeder.count
    let count = readers ?? max(1, ProcessInfo.processInfo.activeProcessorCount - 1)
    return try await withThrowingTaskGroup(of: LoadReader.Outcome.self) { group in
      defer { control.finish() }
      for number in 0..<count {
        let reader = LoadReader(ads: ads, households: households, control: control, seed: UInt64(number + 1))
        group.addTask { try await reader.runOnThread() }
      }
      let steps = seconds * 20
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
      var result = Result(fed: feeder.count - before, readers: count)
      for try await outcome in group {
        result.latencies.add(outcome.latencies)
        result.ads += outcome.ads
        result.compared += outcome.compared
      }
      return result
    }
  }

  /// Returns when the views hold every purchase that was fed.
  private func caughtUp(_ ads: AdsStore) async throws {
    let fed = try ads.purchases.log.offsets().reduce(0) { $0 + $1.upperBound }
    while try ads.read({ try $0.purchasesInViews() }) < fed { try await Task.sleep(for: .milliseconds(20)) }
  }
}
