import Bytes
import LMDB
import Records
import Testing
import Views

struct Product: Record, Equatable {
  var id: String
  var campaign: Int32?
  var bid: Double
  var budget: Int64
  var title: String
  var note: String?
  var small: UInt8
  var big: UInt64
  var active: Bool
}

/// Random upserts, partial upserts and deletes against a dictionary: rows, indexes, aggregates and orders agree after
/// every epoch, through merges and reopening.
@Suite struct RandomOperationTests {
  struct Model {
    var rows: [String: Product] = [:]
  }

  static func key(_ random: inout SeededGenerator, _ space: Int) -> String {
    let number = Int.random(in: 0..<space, using: &random)
    switch number % 50 {
    case 0: return ""
    case 1: return "e\u{301}\(number)"
    case 2: return "é\(number)"
    case 3: return String(repeating: "k", count: 600) + "\(number)"
    default: return "product-\(number)"
    }
  }

  static func product(_ key: String, _ random: inout SeededGenerator) -> Product {
    let bids: [Double] = [0, -0.0, 1.5, .nan, .infinity, -.infinity, Double.random(in: -9...9, using: &random)]
    return Product(
      id: key, campaign: Bool.random(using: &random) ? nil : Int32.random(in: -3...3, using: &random),
      bid: bids.randomElement(using: &random) ?? 0, budget: Int64.random(in: -1_000_000...1_000_000, using: &random),
      title: Bool.random(using: &random)
        ? "title" : String(repeating: "t", count: Int.random(in: 0...700, using: &random)),
      note: Int.random(in: 0...3, using: &random) == 0 ? nil : "n\(Int.random(in: 0...5, using: &random))",
      small: UInt8.random(in: 0...255, using: &random), big: UInt64.random(in: 0...UInt64.max, using: &random),
      active: Bool.random(using: &random))
  }

  @Test(arguments: [(1, 30, 40), (2, 200, 40), (3, 2_000, 14)])
  func everyEpochEqualsTheModel(seed: UInt64, keys: Int, epochs: Int) throws {
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let store = try TestStore()
    var view = try store.write { transaction in
      try store.views.open(
        "products", of: Product.self, key: \.id,
        indexes: [.on(\.campaign), .on(\.title), .on(\.campaign, \.bid), .on(\.big)], in: transaction)
    }
    var model = Model()
    for epoch in 0..<epochs {
      let changes = ViewChanges(view)
      let bidAndNote = try view.columns(\.note, \.bid)
      for _ in 0..<Int.random(in: 0...keys, using: &random) {
        let key = Self.key(&random, keys)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5:
          let row = Self.product(key, &random)
          changes.upsert(row)
          model.rows[key] = row
        case 5..<8:
          let row = Self.product(key, &random)
          changes.upsert(row, columns: bidAndNote)
          var merged =
            model.rows[key]
            ?? Product(
              id: key, campaign: nil, bid: 0, budget: 0, title: "", note: nil, small: 0, big: 0, active: false)
          merged.bid = row.bid
          merged.note = row.note
          model.rows[key] = merged
        default:
          try changes.delete(key)
          model.rows[key] = nil
        }
      }
      try store.commit(try changes.seal())
      if epoch % 7 == 3 {
        try store.reopen()
        view = try store.write { try store.views.open(view: "products", in: $0) }
      }
      if epoch % 11 == 10 { try store.settle() }
      try check(store, view, model, &random, epoch: epoch)
    }
  }

  private func check(
    _ store: TestStore, _ view: View<Product>, _ model: Model, _ random: inout SeededGenerator, epoch: Int
  ) throws {
    let snapshot = try store.snapshot()
    let report = try snapshot.verify("products")
    try #require(report.problems == [])
    try #require(report.rows == model.rows.count, "after epoch \(epoch)")
    let reader = try snapshot[view]
    let rows = try reader.all.rows()
    let expected = model.rows.values.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
    #expect(rows.map(\.id.utf8.count) == expected.map(\.id.utf8.count))
    try #require(same(rows, expected))
    for _ in 0..<20 {
      let key = Self.key(&random, model.rows.count + 3)
      let found = try reader.get(key)
      #expect(same([found].compactMap { $0 }, [model.rows[key]].compactMap { $0 }))
    }
    for campaign in [nil, -3, 0, 2] as [Int32?] {
      let found = reader.where(\.campaign, equals: campaign)
      #expect(same(try found.rows(), expected.filter { $0.campaign == campaign }))
      #expect(try found.count() == expected.filter { $0.campaign == campaign }.count)
      let top = try found.top(5, by: \.budget)
      #expect(
        top.map(\.budget) == Array(expected.filter { $0.campaign == campaign }.map(\.budget).sorted(by: >).prefix(5)))
    }
    if let title = expected.randomElement(using: &random)?.title {
      #expect(same(try reader.where(\.title, equals: title).rows(), expected.filter { $0.title == title }))
    }
    let limit = UInt64.random(in: 0...UInt64.max, using: &random)
    #expect(same(try reader.where { $0.big >= limit }.rows(), expected.filter { $0.big >= limit }))
    #expect(
      try reader.where { $0.campaign >= 1 && $0.budget < 0 }.sum(\.budget)
        == expected.filter { $0.campaign ?? 0 >= 1 && $0.budget < 0 }.map(\.budget).reduce(0, +))
    #expect(try reader.all.min(\.budget) == (expected.map(\.budget).min().map { .integer($0) } ?? .null))
    #expect(try reader.all.max(\.note) == (expected.compactMap(\.note).max().map { .string($0) } ?? .null))
    #expect(try reader.filter { $0.active }.count() == expected.filter(\.active).count)
    #expect(try reader.where { $0.bid == .nan }.count() == expected.filter { $0.bid.isNaN }.count)
    #expect(try reader.where { $0.bid > 1 }.count() == expected.filter { $0.bid > 1 || $0.bid.isNaN }.count)
    #expect(
      try reader.where { !($0.note == "n1") || $0.title.hasPrefix("tt") }.count()
        == expected.filter { $0.note != "n1" || $0.title.hasPrefix("tt") }.count)
  }

  private func same(_ left: [Product], _ right: [Product]) -> Bool {
    guard left.count == right.count else { return false }
    for (one, other) in zip(left, right) {
      var one = one
      var other = other
      guard one.id.utf8.elementsEqual(other.id.utf8), one.bid.bitPattern == other.bid.bitPattern else { return false }
      one.bid = 0
      other.bid = 0
      guard one == other else { return false }
    }
    return true
  }
}

extension ViewSpace {
  /// Opens the test's view as the program did that made it.
  func open(view name: String, in transaction: borrowing WriteTransaction) throws -> View<Product> {
    try open(
      name, of: Product.self, key: \.id,
      indexes: [.on(\.campaign), .on(\.title), .on(\.campaign, \.bid), .on(\.big)], in: transaction)
  }
}
