/// How long something took, many times over.
package struct Latencies: Sendable {
  private var nanoseconds: [Int64] = []

  package init() {}

  package var count: Int { nanoseconds.count }

  package mutating func add(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    nanoseconds.append(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }

  package mutating func add(_ others: Latencies) { nanoseconds += others.nanoseconds }

  /// For each of `fractions` the smallest time that at least this part of all times does not exceed (nearest rank), in
  /// microseconds; 0 if nothing was timed.
  package func percentiles(_ fractions: [Double]) -> [Double] {
    let sorted = nanoseconds.sorted()
    return fractions.map { fraction in
      guard !sorted.isEmpty else { return 0 }
      let rank = Int((fraction * Double(sorted.count)).rounded(.up))
      return Double(sorted[min(max(rank, 1), sorted.count) - 1]) / 1_000
    }
  }
}
