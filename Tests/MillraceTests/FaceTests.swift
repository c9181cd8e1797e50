import Millrace
import Testing

enum Kind: String, Codable, Sendable, CaseIterable { case created, bid, purchase, deleted }

struct ProductEvent: Record {
  var product: String
  var kind: Kind
  var amount: Int64
  var at: Timestamp
}

struct PromotedProduct: Record, Equatable {
  var product: String
  var campaign: Int32?
  var bid: Double
  var units: Int64

  init(product: String) {
    self.product = product
    campaign = nil
    bid = 0
    units = 0
  }

  mutating func apply(_ event: ProductEvent) {
    switch event.kind {
    case .created: campaign = Int32(event.amount)
    case .bid: bid = Double(event.amount) / 100
    case .purchase: units += event.amount
    case .deleted: units = 0
    }
  }
}

/// The program of the README: events in, a job that folds them into a view, answers out.
@Suite struct FaceTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  static func events(_ count: Int) -> [ProductEvent] {
    (0..<count).map { index in
      ProductEvent(
        product: "product-\(index * 7 % 101)", kind: [.created, .bid, .purchase, .purchase][index % 4],
        amount: Int64(index % 13), at: Timestamp(microseconds: Int64(index) * 1000))
    }
  }

  static func model(_ events: [ProductEvent]) -> [String: PromotedProduct] {
    var rows: [String: PromotedProduct] = [:]
    for event in events { rows[event.product, default: PromotedProduct(product: event.product)].apply(event) }
    return rows
  }

  @Test(arguments: [1, 2, 3]) func eventsFoldIntoAViewAndAreReadBack(parallelism: Int) async throws {
    let store = try Store.open(at: folder.file("store-\(parallelism)"))
    let topic = try store.topic(
      "events", of: ProductEvent.self, key: \.product, timestamp: \.at, partitions: 4)
    let view = try store.view(
      "products", of: PromotedProduct.self, key: \.product, indexes: [.on(\.campaign)])
    let job = try Job("materialize") { flow in
      flow.from(topic).keyed()
        .fold(into: view, initial: PromotedProduct.init(product:)) { row, event in row.apply(event) }
    }
    let events = Self.events(5000)
    try await topic.append(contentsOf: Array(events[..<3000]))
    try await store.run(job, RunOptions(mode: .toEnd, parallelism: parallelism))
    try await topic.append(contentsOf: Array(events[3000...]))
    try await store.run(job, RunOptions(mode: .toEnd, parallelism: parallelism))

    let expected = Self.model(events)
    let rows = try store.read { try $0[view].all.rows() }
    #expect(rows.count == expected.count)
    for row in rows { #expect(row == expected[row.product]) }
    let inCampaign = try store.read { try $0[view].where { $0.campaign == 3 }.rows() }
    #expect(Set(inCampaign.map(\.product)) == Set(expected.values.filter { $0.campaign == 3 }.map(\.product)))
    let best = try store.read { try $0[view].all.top(5, by: \.units) }
    #expect(best.map(\.units) == expected.values.map(\.units).sorted(by: >).prefix(5).map { $0 })
  }

  @Test func aStoreGoesOnAfterReopening() async throws {
    let events = Self.events(2000)
    for part in 0..<4 {
      let store = try Store.open(at: folder.file("store"))
      let topic = try store.topic("events", of: ProductEvent.self, key: \.product, timestamp: \.at, partitions: 2)
      let output = try store.topic("changed", of: PromotedProduct.self, key: \.product)
      let view = try store.view("products", of: PromotedProduct.self, key: \.product)
      let job = try Job("materialize") { flow in
        flow.from(topic).keyed()
          .fold(into: view, initial: PromotedProduct.init(product:)) { row, event in row.apply(event) }
          .append(to: output)
      }
      try await topic.append(contentsOf: Array(events[(part * 500)..<(part + 1) * 500]))
      try await store.run(job, RunOptions(mode: .toEnd))
      #expect(try output.log.endOffset(0) == Int64((part + 1) * 500))
      let rows = try store.read { try $0[view].all.rows() }
      let expected = Self.model(Array(events[..<((part + 1) * 500)]))
      #expect(rows.count == expected.count)
      for row in rows { #expect(row == expected[row.product]) }
      store.close()
    }
  }
}
