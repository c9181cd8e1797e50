import Foundation
import Millrace
import Testing

@testable import AdsCore

/// A store in a folder of its own, removed at the end.
private func withStore(_ body: (AdsStore) async throws -> Void) async throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ads-tests-\(UUID().uuidString)").path
  defer { try? FileManager.default.removeItem(atPath: folder) }
  let ads = try AdsStore(at: folder)
  try await body(ads)
  ads.store.close()
}

@Suite("The job", .serialized) struct JobTests {
  /// Random campaigns and purchases with many equal times.
  private struct Events {
    var inventory: [InventoryEvent] = []
    var campaigns: [CampaignEvent] = []
    var purchases: [PurchaseEvent] = []

    init(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      for product in 1...30 as ClosedRange<Int64> where product % 7 != 0 {
        inventory.append(description(product, category: ["SOUP", "BEEF", "Soup, dry"][Int(product) % 3]))
      }
      for campaign in 1...5 as ClosedRange<Int64> {
        let first = Int.random(in: 2...20, using: &random)
        let last = Int.random(in: first...25, using: &random)
        let budget = Int64.random(in: 50...2_000, using: &random)
        campaigns.append(terms(campaign, from: first, to: last, budget: budget))
        for id in 1...30 as ClosedRange<Int64> {
          if Int.random(in: 0..<3, using: &random) == 0 {
            let bid = Int64.random(in: 1...40, using: &random)
            campaigns.append(
              terms(campaign, .offered, from: first, to: last, budget: budget, product: id, bid: bid))
          }
          if Bool.random(using: &random) {
            campaigns.append(terms(campaign, .targeted, from: first, to: last, budget: budget, household: id))
          }
        }
        if campaign == 3 { campaigns.append(terms(campaign, .paused, from: first, to: last, budget: budget)) }
      }
      campaigns = campaigns.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        .map(\.element)
      purchases = (1...600).map { line in
        purchase(
          Int64.random(in: 1...30, using: &random), by: Int64(1 + line / 4 % 30), basket: Int64(line / 4),
          sales: Int64.random(in: 0...900, using: &random), coupon: line % 9 == 0 ? 50 : 0,
          at: Day(year: 2017, month: 5, day: 1 + line / 22).start)
      }
    }

    var model: ReferenceModel {
      ReferenceModel(inventory: inventory, campaigns: campaigns, purchases: purchases)
    }
  }

  private func expectAgreement(_ ads: AdsStore, _ model: ReferenceModel, _ comment: Comment) async throws {
    let rows = try ads.read { try $0.allRows() }
    #expect(rows.differences(from: model) == [], comment)
    var log = AttributionLog()
    for try await entry in try ads.attributions.events() { log.add(entry.event) }
    #expect(log.differences(from: model) == [], comment)
    #expect(log.count > 0, comment)
    try ads.read { snapshot in
      try snapshot.compareViews()
      for household in 1...30 as ClosedRange<Int64> {
        for text in ["", "soup", "beef", "SOUP,"] {
          let query = AdQuery(household: household, categoryContains: text, at: noon, count: 4)
          #expect(try query.select(from: snapshot) == model.select(query), comment)
        }
      }
    }
  }

  @Test("views, attributions and selections agree with the reference model", arguments: [1, 2, 4])
  func agreement(parallelism: Int) async throws {
    let events = Events(seed: 7)
    try await withStore { ads in
      try await ads.inventory.append(contentsOf: events.inventory)
      try await ads.campaigns.append(contentsOf: events.campaigns)
      try await ads.purchases.append(contentsOf: events.purchases)
      let options = RunOptions(mode: .drain, parallelism: parallelism, checkpoints: .everyRecords(100), batchSize: 16)
      #expect(try await ads.store.run(try ads.materialize(), options) == .drained)
      try await expectAgreement(ads, events.model, "seed 7, parallelism \(parallelism)")
    }
  }

  /// Purchases come first, the campaigns that they count for long after.
  @Test func whichTopicIsReadFirstDoesNotMatter() async throws {
    let events = Events(seed: 11)
    try await withStore { ads in
      let job = try ads.materialize()
      try await ads.purchases.append(contentsOf: events.purchases)
      #expect(try await ads.store.run(job, RunOptions(mode: .toEnd)) == .stopped)
      try await ads.campaigns.append(contentsOf: events.campaigns)
      try await ads.inventory.append(contentsOf: events.inventory)
      #expect(try await ads.store.run(job, RunOptions(mode: .drain, parallelism: 2)) == .drained)
      try await expectAgreement(ads, events.model, "seed 11")
    }
  }

  @Test func aRunThatIsStoppedGoesOnWhereItWas() async throws {
    let events = Events(seed: 13)
    try await withStore { ads in
      try await ads.inventory.append(contentsOf: events.inventory)
      try await ads.campaigns.append(contentsOf: events.campaigns)
      let slices = stride(from: 0, to: events.purchases.count, by: 150)
      for (number, start) in slices.enumerated() {
        try await ads.purchases.append(contentsOf: Array(events.purchases[start..<start + 150]))
        let mode = start + 150 == events.purchases.count ? RunMode.drain : .toEnd
        _ = try await ads.store.run(try ads.materialize(), RunOptions(mode: mode, parallelism: 1 + number % 3))
      }
      try await expectAgreement(ads, events.model, "seed 13")
    }
  }
}
