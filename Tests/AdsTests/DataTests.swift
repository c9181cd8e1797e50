import AdsCore
import Millrace
import Testing

/// The files alone, before anything is computed from them.
@Suite("The data set") struct DataTests {
  @Test func theMonthHoldsWhatItsSourceHolds() throws {
    var totals = Totals()
    var baskets: Set<Int64> = []
    var households: Set<Int64> = []
    var products: Set<Int64> = []
    var units: [Int64: Int64] = [:]
    var largest: Int64 = 0
    for purchase in try Month.purchases.get() {
      totals.revenueCents += purchase.salesCents
      totals.couponCents += purchase.couponCents
      totals.couponPurchases += purchase.couponCents > 0 ? 1 : 0
      totals.purchases += 1
      baskets.insert(purchase.basket)
      households.insert(purchase.household)
      products.insert(purchase.product)
      units[purchase.product, default: 0] += purchase.quantity
      largest = max(largest, purchase.quantity)
    }
    let described = Set(try Month.inventory.get().map(\.product))
    totals.products = Int64(products.count)
    totals.productsWithoutDescription = Int64(products.subtracting(described).count)
    totals.baskets = Int64(baskets.count)
    totals.households = Int64(households.count)
    totals.attributions = Totals.ofTheMonth.attributions
    #expect(totals == .ofTheMonth)

    // What looks like a mistake and stands in the source: gasoline is not counted in pieces.
    #expect(units[6_534_178] == 11_017_142)
    #expect(largest == 35_436)
  }

  @Test func everyDescribedProductWasBought() throws {
    let inventory = try Month.inventory.get()
    #expect(inventory.count == 24_099)
    #expect(Set(inventory.map(\.product)).count == 24_099)
  }

  @Test func campaignsComeWithTheirProductsAndHouseholds() throws {
    let events = try Month.campaigns.get()
    #expect(events.filter { $0.kind == .announced }.map(\.campaign) == [3, 5, 6, 7, 8, 9])
    #expect(events.filter { $0.kind == .offered }.count == 19_229)
    #expect(events.filter { $0.kind == .targeted }.count == 1_693)
    #expect(zip(events, events.dropFirst()).allSatisfy { $0.at <= $1.at })
    for campaign in [3, 5, 6, 7, 8, 9] as [Int64] {
      #expect(events.first { $0.campaign == campaign }?.kind == .announced)
    }
  }

  @Test func bidsAndBudgetsAreTheSameEverywhere() throws {
    let offers = try Month.campaigns.get().filter { $0.kind == .offered }
    #expect(offers.allSatisfy { (5...49).contains($0.bidCents) })
    #expect(offers.map(\.bidCents).reduce(0, +) == 523_905)
    let budgets = try Month.campaigns.get().filter { $0.kind == .announced }.map { [$0.campaign, $0.budgetCents] }
    #expect(budgets == [[3, 24], [5, 332], [6, 65], [7, 198], [8, 782_252], [9, 176]])
  }

  @Test func theFeedIsInTheOrderOfTime() throws {
    var feed = try Feed(month)
    var previous = Timestamp.min
    var counts = [0, 0, 0]
    var rankOfPrevious = 0
    var steps = 0
    while let event = try feed.next() {
      let rank =
        switch event {
        case .inventory: 0
        case .campaign: 1
        case .purchase: 2
        }
      if event.at < previous || (event.at == previous && rank < rankOfPrevious) { steps += 1 }
      (previous, rankOfPrevious) = (event.at, rank)
      counts[rank] += 1
    }
    #expect(steps == 0, "steps back in time")
    #expect(counts == [24_099, try Month.campaigns.get().count, 125_541])
  }
}

@Suite("Bad input files") struct BadInputTests {
  private func purchases(_ lines: String) throws -> [PurchaseEvent] {
    var reader = PurchaseReader(
      try reader(
        "time_s,basket,household,product,quantity,sales_value,coupon_disc\n" + lines, columns: PurchaseReader.columns))
    var events: [PurchaseEvent] = []
    while let event = try reader.next() { events.append(event) }
    return events
  }

  @Test func aPurchaseIsRead() throws {
    #expect(
      try purchases("1493596827,7,2011,829866,2,2.99,0.5\n") == [
        purchase(
          829_866, by: 2011, basket: 7, quantity: 2, sales: 299, coupon: 50,
          at: Timestamp(milliseconds: 1_493_596_827_000))
      ])
  }

  @Test func equalTimesAreFineAndEarlierOnesAreNot() throws {
    #expect(try purchases("5,1,1,1,1,1,0\n5,1,1,2,1,1,0\n").count == 2)
    let error = failure { _ = try purchases("5,1,1,1,1,1,0\n4,1,1,2,1,1,0\n") }
    #expect(error?.place == .init(file: "test.csv", line: 3, column: 1, field: "time_s"))
  }

  @Test func aTimeBeyondTheRangeIsRefused() {
    #expect(failure { _ = try purchases("9223372036854775807,1,1,1,1,1,0\n") }?.place?.field == "time_s")
    #expect(failure { _ = try purchases("99999999999999999999,1,1,1,1,1,0\n") }?.place?.field == "time_s")
  }

  @Test func anAmountWithHalfACentIsRefused() {
    #expect(failure { _ = try purchases("5,1,1,1,1,1.005,0\n") }?.place?.field == "sales_value")
  }
}
