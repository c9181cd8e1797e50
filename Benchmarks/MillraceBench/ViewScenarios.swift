import Millrace

/// A row of 12 columns as an ads view has them: numbers, times and texts; a campaign column with 10,000 values.
struct BenchRow: Record {
  var id: Int64
  var campaign: Int32
  var category: Int32
  var units: Int64
  var revenue: Int64
  var budget: Int64
  var updated: Timestamp
  var bid: Double
  var score: Double
  var brand: String
  var title: String
  var region: String

  init(_ id: Int64, version: UInt64 = 0) {
    let mixed = SplitMix64.mix(UInt64(bitPattern: id) &+ version &* 0x9E37_79B9_7F4A_7C15)
    self.id = id
    campaign = Int32(mixed % 10_000)
    category = Int32(mixed >> 16 & 255)
    units = Int64(mixed >> 24 & 1023)
    revenue = Int64(mixed >> 20 & 0xFFFFF)
    budget = Int64(mixed >> 8 & 0xFFFFFF)
    updated = Timestamp(microseconds: 1_700_000_000_000_000 + Int64(mixed >> 32))
    bid = Double(mixed & 0xFFFF) / 65536
    score = Double(mixed >> 11) * 0x1p-53
    brand = "brand-\(mixed >> 40 & 511)"
    title = "product \(id) of line \(mixed >> 50)"
    region = ["north", "south", "east", "west"][Int(mixed >> 60 & 3)]
  }
}

/// Views: loading, point gets, random upserts, scans.
enum ViewScenarios {
  static let get = Scenario(
    name: "view-get", summary: "random gets of whole rows as structs, 1 M rows of 12 columns", defaultSize: 1_000_000
  ) { options in
    let store = try Store.open(at: options.folder + "/store")
    let view = try await load(store, options.size)
    let gets = options.integer("gets", 1_000_000)
    var random = SplitMix64(seed: 2)
    var latencies: [Int64] = []
    latencies.reserveCapacity(gets)
    var found = 0
    let watch = Stopwatch()
    for _ in 0..<gets {
      let id = Int64(random.next() % UInt64(options.size))
      let start = ContinuousClock.now
      let row = try store.read { try $0[view].get(id) }
      latencies.append(Int64((ContinuousClock.now - start) / .nanoseconds(1)))
      if row?.id == id { found += 1 }
    }
    return watch.measurement(
      "view-get", events: gets, latencies: latencies,
      settings: ["rows": "\(options.size)", "columns": "12", "snapshot": "one per get"], facts: ["found": "\(found)"])
  }

  static let upsert = Scenario(
    name: "view-upsert", summary: "random upserts of 3 of 12 columns, 20,000 per synced commit, 1 M rows",
    defaultSize: 1_000_000
  ) { options in
    let store = try Store.open(at: options.folder + "/store")
    let view = try await load(store, options.size)
    let columns = try view.columns(\.units, \.revenue, \.score)
    let perEpoch = options.integer("per-commit", 20_000)
    let epochs = max(1, options.integer("upserts", 2 * options.size) / perEpoch)
    var random = SplitMix64(seed: 3)
    var latencies: [Int64] = []
    let watch = Stopwatch()
    for epoch in 0..<epochs {
      let start = ContinuousClock.now
      try await store.update(view) { changes in
        for _ in 0..<perEpoch {
          let id = Int64(random.next() % UInt64(options.size))
          changes.upsert(BenchRow(id, version: UInt64(epoch) + 1), columns: columns)
        }
      }
      latencies.append(Int64((ContinuousClock.now - start) / .nanoseconds(1)))
    }
    return watch.measurement(
      "view-upsert", events: epochs * perEpoch, latencies: latencies,
      settings: [
        "rows": "\(options.size)", "columnsSet": "3 of 12", "perCommit": "\(perEpoch)", "durability": "synced",
        "latency": "per commit",
      ],
      facts: ["rows": "\(try store.read { try $0[view].count() })"])
  }

  static let scan = Scenario(
    name: "view-scan", summary: "filter and sum over two columns of 1 M rows", defaultSize: 1_000_000
  ) { options in
    let store = try Store.open(at: options.folder + "/store")
    let view = try await load(store, options.size)
    let scans = options.integer("scans", 20)
    var latencies: [Int64] = []
    var sum: Int64 = 0
    let watch = Stopwatch()
    for _ in 0..<scans {
      let start = ContinuousClock.now
      sum = try store.read { try $0[view].where { $0.category < 64 }.sum(\.revenue) }
      latencies.append(Int64((ContinuousClock.now - start) / .nanoseconds(1)))
    }
    return watch.measurement(
      "view-scan", events: scans * options.size, latencies: latencies,
      settings: ["rows": "\(options.size)", "query": "sum(revenue) where category < 64"], facts: ["sum": "\(sum)"])
  }

  static func load(_ store: Store, _ rows: Int) async throws -> View<BenchRow> {
    let view = try store.view("bench", of: BenchRow.self, key: \.id)
    var first = 0
    while first < rows {
      let end = min(first + 50_000, rows)
      try await store.update(view) { changes in
        for id in first..<end { changes.upsert(BenchRow(Int64(id))) }
      }
      first = end
    }
    // Runs that are still in front are merged as in a store that has been written to for a while.
    for _ in 0..<40 { try await store.update(view) { $0.upsert(BenchRow(0)) } }
    return view
  }
}
