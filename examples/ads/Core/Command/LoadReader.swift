import Foundation
import Millrace
import Synchronization

/// What the readers of a load test are told while they run.
final class LoadControl: Sendable {
  private let microseconds: Atomic<Int64>
  private let over = Atomic<Bool>(false)

  init(now: Timestamp) { microseconds = Atomic(now.microseconds) }

  /// The time of the feed: when ads are asked for.
  var now: Timestamp { Timestamp(microseconds: microseconds.load(ordering: .relaxed)) }
  var isOver: Bool { over.load(ordering: .relaxed) }

  func move(to time: Timestamp) { microseconds.store(time.microseconds, ordering: .relaxed) }
  func finish() { over.store(true, ordering: .relaxed) }
}

/// One thread that selects ads as fast as it can.
struct LoadReader: Sendable {
  struct Outcome: Sendable {
    var latencies = Latencies()
    var ads = 0
    /// Snapshots in which the views were compared with each other.
    var compared = 0
  }

  let ads: AdsStore
  let households: [Int64]
  let control: LoadControl
  let seed: UInt64

  /// What requests ask for: parts of names of categories, some narrow, some wide.
  static let texts = ["cheese", "soup", "frzn", "candy", "meat", "yogurt", "coffee", "pizza", "hair", "bread"]
  /// Every so many selections the views are compared.
  static let comparison = 512

  /// Reads until the control says that it is over.
  func run() throws -> Outcome {
    var outcome = Outcome()
    var state = seed
    let clock = ContinuousClock()
    while !control.isOver {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let number = Int(state >> 33)
      let query = AdQuery(
        household: households[number % households.count],
        categoryContains: Self.texts[(number / households.count) % Self.texts.count],
        at: control.now)
      let start = clock.now
      let found = try ads.read { try query.select(from: $0) }
      outcome.latencies.add(clock.now - start)
      outcome.ads += found.count
      if outcome.latencies.count % Self.comparison == 1 {
        try ads.read { try $0.compareViews() }
        outcome.compared += 1
      }
    }
    return outcome
  }

  /// `run` on a thread of its own, so that it takes no thread from the tasks that feed.
  func runOnThread() async throws -> Outcome {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try run() }) }
    }
  }
}
