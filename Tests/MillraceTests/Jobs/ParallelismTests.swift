import Millrace
import Testing

/// The same input gives the same views and outputs whatever the number of threads.
@Suite struct ParallelismTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  static func sales(_ count: Int, seed: UInt64) -> [Sale] {
    var dice = Dice(state: seed)
    return (0..<count).map {
      Sale("key-\(Int.random(in: 0..<300, using: &dice))", .random(in: -9...9, using: &dice), at: Int64($0) * 1000)
    }
  }

  /// Totals per key; sums per key and ten seconds, as rows of another view; every sale copied.
  static func job(_ shop: Shop, _ windows: View<Total>, _ copies: Topic<Sale>) throws -> Job {
    try Job("all") { flow in
      let sales = flow.from(shop.sales)
      sales.keyed().fold(into: shop.totals, initial: Total.init(key:)) { row, sale in row.add(sale) }
      sales.append(to: copies)
      sales.keyed(by: \.amount).window(.tumbling(.milliseconds(100)))
        .aggregate("windows", initial: Int64(0)) { count, _ in
          count += 1
        } result: { (amount: Int64, window, count) in
          var row = Total(key: "\(window.start.microseconds) \(amount)")
          row.sum = amount
          row.count = count
          row.last = window.end
          return row
        }
        .upsert(into: windows)
    }
  }

  struct Result: Equatable {
    var totals: [String: Total]
    var windows: [String: Total]
    var copies: [String: [Int64]]
  }

  /// Runs the sales in parts, each with its own parallelism, the last one drained.
  private func result(_ name: String, _ sales: [Sale], _ parallelism: [Int]) async throws -> Result {
    let size = (sales.count + parallelism.count - 1) / parallelism.count
    for (part, threads) in parallelism.enumerated() {
      let shop = try Shop(folder.file(name))
      let windows = try shop.store.view("windows", of: Total.self, key: \.key, indexes: [.on(\.count)])
      let copies = try shop.store.topic("copies", of: Sale.self, key: \.key, timestamp: \.at, partitions: 3)
      try await shop.sales.append(contentsOf: Array(sales[(part * size)..<min((part + 1) * size, sales.count)]))
      let isLast = part + 1 == parallelism.count
      try await shop.store.run(
        try Self.job(shop, windows, copies),
        RunOptions(
          mode: isLast ? .drain : .toEnd, parallelism: threads, checkpoints: .everyRecords(400), batchSize: 64))
      if isLast {
        var copied: [String: [Int64]] = [:]
        for try await entry in try copies.events() {
          copied[entry.event.key, default: []].append(entry.event.at.microseconds)
        }
        return Result(totals: try shop.rows(), windows: try shop.store.rows(windows), copies: copied)
      }
      shop.store.close()
    }
    throw StoreError(.io, path: name, detail: "no part")
  }

  @Test func oneTwoThreeAndEightThreadsGiveTheSame() async throws {
    let seed = UInt64.random(in: 0..<10_000)
    let sales = Self.sales(3000, seed: seed)
    let one = try await result("one", sales, [1])
    #expect(one.totals == Total.model(sales), "seed \(seed)")
    for (key, times) in one.copies {
      #expect(times == sales.filter { $0.key == key }.map(\.at.microseconds), "seed \(seed), \(key)")
    }
    for threads in [2, 3, 8] {
      let other = try await result("p\(threads)", sales, [threads])
      #expect(other == one, "seed \(seed), parallelism \(threads)")
    }
  }

  @Test func rescalingFromFourToOneToThreeWithLiveWindowsGivesTheSame() async throws {
    let seed = UInt64.random(in: 0..<10_000)
    let sales = Self.sales(3000, seed: seed)
    let one = try await result("one", sales, [1])
    let rescaled = try await result("rescaled", sales, [4, 1, 3])
    #expect(rescaled.totals == one.totals, "seed \(seed)")
    #expect(rescaled.copies == one.copies, "seed \(seed)")
    #expect(rescaled.windows == one.windows, "seed \(seed)")
  }
}
