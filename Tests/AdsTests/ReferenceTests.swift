import AdsCore
import Millrace
import Testing

@Suite("The reference model") struct ReferenceTests {
  @Test func itsTotalsAreThoseOfTheMonth() throws {
    let model = try Month.model.get()
    var totals = Totals()
    for row in model.products.values { totals.add(row) }
    for row in model.campaigns.values { totals.add(row) }
    for row in model.households.values { totals.add(row) }
    #expect(totals == .ofTheMonth)
    #expect(totals.oracles(expecting: .ofTheMonth).filter { !$0.holds }.isEmpty)
    totals.baskets += 1
    #expect(totals.oracles(expecting: .ofTheMonth).filter { !$0.holds }.map(\.name) == ["baskets"])
  }

  @Test func theCampaignsGetThePurchasesThatAJoinOfTheTablesGives() throws {
    let campaigns = try Month.model.get().campaigns
    #expect(campaigns.keys.sorted() == [3, 5, 6, 7, 8, 9])
    #expect(campaigns.values.sorted { $0.campaign < $1.campaign }.map(\.purchases) == [2, 78, 3, 33, 23_606, 12])
    #expect(campaigns[8]?.revenueCents == 6_908_161)
    #expect(campaigns[5]?.revenueCents == 22_660)
    for row in campaigns.values {
      #expect(row.spentCents <= row.budgetCents)
      #expect(row.leftCents == row.budgetCents - row.spentCents)
    }
  }

  @Test func bothKindsOfEndOccur() throws {
    let campaigns = try Month.model.get().campaigns.values
    #expect(campaigns.contains { $0.leftCents == 0 && $0.dueCents > $0.budgetCents })
    #expect(campaigns.contains { $0.leftCents > 0 && $0.purchases > 0 })
  }

  @Test("selections agree with sorting everything", arguments: 1...4 as ClosedRange<UInt64>)
  func selections(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let model = try Month.model.get()
    let tables = ModelTables(model)
    let households = model.households.keys.sorted()
    var found = 0
    for _ in 0..<6 {
      let query = AdQuery(
        household: households.randomElement(using: &random) ?? 0,
        categoryContains: ["", "soup", "CHEESE", "frzn", "x", "Candy", "é"].randomElement(using: &random) ?? "",
        at: Day(year: 2017, month: 5, day: Int.random(in: 1...31, using: &random)).start,
        count: Int.random(in: 1...12, using: &random))
      let ads = try query.select(from: tables)
      #expect(ads == model.select(query), "seed \(seed), \(query)")
      found += ads.count
    }
    #expect(found > 0)
  }
}
