import Millrace
import Testing

@testable import AdsCore

@Suite("Rows") struct RowTests {
  @Test func aProductAddsUpItsPurchases() {
    var row = Product(product: 7)
    row.apply(purchase(7, quantity: 2, sales: 299, coupon: 50, at: noon))
    row.apply(purchase(7, quantity: 0, sales: 0, at: DataSet.firstDay.start))
    #expect(row.purchases == 2)
    #expect(row.units == 2)
    #expect(row.revenueCents == 299)
    #expect(row.couponCents == 50)
    #expect(row.couponPurchases == 1)
    #expect(row.lastPurchase == noon)
    #expect(!row.isPurchasable)
  }

  @Test func sumsSaturateInsteadOfTrapping() {
    var row = Product(product: 7)
    row.apply(purchase(7, quantity: .max, sales: .max))
    row.apply(purchase(7, quantity: 1, sales: 1))
    #expect(row.units == .max)
    #expect(row.revenueCents == .max)
  }

  @Test func theLatestDescriptionAndTheLatestBidOfACampaignHold() {
    var row = Product(product: 7)
    row.apply(description(7, category: "SOUP"))
    row.apply(description(7, category: "BEEF"))
    row.apply(terms(9, .offered, product: 7, bid: 20))
    row.apply(terms(3, .offered, product: 7, bid: 10))
    row.apply(terms(9, .offered, product: 7, bid: 5))
    row.apply(terms(9, .targeted, household: 7))
    #expect(row.category == "BEEF")
    #expect(row.offers == "3:10 9:5")
    #expect(row.bidCents == 10)
    #expect(row.isPurchasable)
  }

  @Test func aCampaignNeverSpendsMoreThanItsBudget() {
    var row = Campaign(campaign: 8)
    row.apply(terms(8, budget: 50))
    for _ in 0..<3 { row.apply(attribution(bid: 20)) }
    #expect(row.dueCents == 60)
    #expect(row.spentCents == 50)
    #expect(row.leftCents == 0)
    #expect(row.purchases == 3)
    row.apply(terms(8, budget: 100))
    #expect(row.spentCents == 60)
    #expect(row.leftCents == 40)
  }

  @Test func aCampaignIsLiveFromItsFirstInstantToItsLast() {
    var row = Campaign(campaign: 8)
    #expect(!row.isLive(at: noon))
    row.apply(terms(8, from: 8, to: 20))
    let first = Day(year: 2017, month: 5, day: 8).start
    let end = Day(year: 2017, month: 5, day: 21).start
    #expect(row.isLive(at: first))
    #expect(!row.isLive(at: first.advanced(byMicroseconds: -1)))
    #expect(row.isLive(at: end.advanced(byMicroseconds: -1)))
    #expect(!row.isLive(at: end))
    row.apply(terms(8, .paused))
    #expect(!row.isLive(at: noon))
    row.apply(terms(8, .resumed))
    #expect(row.isLive(at: noon))
    for _ in 0..<100 { row.apply(attribution(bid: 10)) }
    #expect(!row.isLive(at: noon))
  }

  @Test func onlyAPromotedProductHasARank() {
    var row = Product(product: 7)
    row.apply(terms(9, .offered, product: 7, bid: 20))
    #expect(row.rank == PromotionRank.none)
    row.apply(description(7, category: "SOUP"))
    #expect(row.rank == 0)
    row.apply(purchase(7, sales: 100))
    #expect(row.rank == 11)
    #expect(PromotionRank.leastScore(11) <= 2_000 && 2_000 < PromotionRank.leastScore(12))
  }

  @Test func ranksCoverEveryScoreOnce() {
    for score in [0, 1, 2, 3, 4, 1_023, 1_024, Int64.max] {
      let rank = PromotionRank.of(score)
      #expect(PromotionRank.portions.filter { $0.contains(rank) }.count == 1)
      #expect(PromotionRank.leastScore(rank) <= score)
      #expect(rank == 63 || score < PromotionRank.leastScore(rank + 1))
    }
  }

  @Test func textColumnsReadWhatTheyWrote() {
    var offers = Offers()
    for campaign in [9, 3, 27] as [Int64] { offers.set(campaign, bidCents: campaign * 2) }
    #expect(offers.text == "3:6 9:18 27:54")
    #expect(Offers(offers.text) == offers)
    #expect(Offers("").all.isEmpty)
    #expect(Offers("nonsense").all.isEmpty)
    #expect(Offers("5 3:6").all.map(\.campaign) == [3])
    var list = CampaignList("3 9")
    list.insert(8)
    list.insert(8)
    #expect(list.text == "3 8 9")
  }

  @Test("rows do not depend on how the topics interleave", arguments: 1...20 as ClosedRange<UInt64>)
  func interleavings(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let inventory = ["SOUP", "BEEF"].map { ProductChange.inventory(description(7, category: $0)) }
    let campaigns = (0..<6).map { index in
      ProductChange.campaign(
        terms(Int64(3 + index % 4), .offered, product: 7, bid: Int64.random(in: 1...40, using: &random)))
    }
    let purchases = (0..<8).map { index in
      ProductChange.purchase(
        purchase(7, sales: Int64.random(in: 0...500, using: &random), at: noon.advanced(byMicroseconds: Int64(index))))
    }
    func row(_ changes: [ProductChange]) -> Product {
      var row = Product(product: 7)
      for change in changes { row.apply(change) }
      return row
    }
    let straight = row(inventory + campaigns + purchases)
    #expect(row(interleaved([inventory, campaigns, purchases], using: &random)) == straight)

    let attributions = (0..<9).map { CampaignChange.attribution(attribution(bid: Int64($0))) }
    let events = [terms(8, budget: 10), terms(8, .paused), terms(8, .resumed), terms(8, budget: 20)]
      .map(CampaignChange.campaign)
    func campaign(_ changes: [CampaignChange]) -> Campaign {
      var row = Campaign(campaign: 8)
      for change in changes { row.apply(change) }
      return row
    }
    #expect(
      campaign(interleaved([events, attributions.shuffled(using: &random)], using: &random))
        == campaign(attributions + events))
  }

  private func attribution(bid: Int64) -> Attribution {
    Attribution(campaign: 8, household: 1, product: 7, basket: 1, bidCents: bid, salesCents: 100, at: noon)
  }
}

/// One list out of several, each of which keeps its own order.
func interleaved<Element>(_ lists: [[Element]], using random: inout SeededGenerator) -> [Element] {
  var rest = lists.map { $0[...] }
  var result: [Element] = []
  while let list = rest.indices.filter({ !rest[$0].isEmpty }).randomElement(using: &random) {
    result.append(rest[list].removeFirst())
  }
  return result
}
