import AdsCore
import Millrace
import Testing

@Suite("Ad selection") struct SelectionTests {
  /// Two campaigns list two soups and a product that the inventory never described; household 1 is in both.
  private func model(
    budget: Int64 = 1_000, changes: [CampaignEvent] = [], purchases: [PurchaseEvent] = []
  ) -> ReferenceModel {
    var events: [CampaignEvent] = []
    for campaign in [3, 8] as [Int64] {
      events.append(terms(campaign, budget: budget))
      events.append(terms(campaign, .targeted, household: 1))
      for product in [10, 11, 99] as [Int64] {
        events.append(terms(campaign, .offered, budget: budget, product: product, bid: campaign + product))
      }
    }
    events.append(terms(8, .targeted, household: 2))
    return ReferenceModel(
      inventory: [description(10, category: "SOUP"), description(11, category: "Soup, dry")],
      campaigns: events + changes,
      purchases: purchases)
  }

  private func select(
    _ model: ReferenceModel, _ household: Int64 = 1, _ text: String = "soup", at: Timestamp = noon, count: Int = 10
  ) throws -> [Ad] {
    let query = AdQuery(household: household, categoryContains: text, at: at, count: count)
    let ads = try query.select(from: ModelTables(model))
    #expect(ads == model.select(query))
    return ads
  }

  @Test func theHighestBidPaysAndBidTimesRevenueRanks() throws {
    let before = Day(year: 2017, month: 5, day: 1).start
    let ads = try select(
      model(purchases: [purchase(10, sales: 300, at: before), purchase(11, sales: 200, at: before)]))
    #expect(ads.map(\.product) == [10, 11])
    #expect(ads.map(\.campaign) == [8, 8])
    #expect(ads.map(\.score) == [18 * 300, 19 * 200])
  }

  @Test func withoutRevenueTheBidRanks() throws {
    #expect(try select(model()).map(\.product) == [11, 10])
    #expect(try select(model(), count: 1).map(\.product) == [11])
  }

  @Test func aProductWithoutDescriptionIsNeverPromoted() throws {
    #expect(try select(model(), 1, "").map(\.product) == [11, 10])
  }

  @Test func aSpentPausedOrFinishedCampaignPaysForNothing() throws {
    let spent = [purchase(10, by: 2)]
    #expect(try select(model(budget: 18, purchases: spent)).map(\.campaign) == [3, 3])
    #expect(try select(model(budget: 19, purchases: spent)).map(\.campaign) == [8, 8])
    #expect(try select(model(changes: [terms(8, .paused)])).map(\.campaign) == [3, 3])
    #expect(try select(model(changes: [terms(8, .paused), terms(3, .paused)])).isEmpty)
    #expect(try select(model(changes: [terms(8, .paused), terms(8, .resumed)])).map(\.campaign) == [8, 8])
    #expect(try select(model(), at: Day(year: 2017, month: 5, day: 21).start).isEmpty)
    #expect(try select(model(), at: Day(year: 2017, month: 5, day: 7).start).isEmpty)
  }

  @Test func onlyCampaignsThatTargetTheHouseholdPay() throws {
    #expect(try select(model(), 2).map(\.campaign) == [8, 8])
    #expect(try select(model(), 3).isEmpty)
  }

  @Test func aCategoryMatchesAnywhereAndInAnyCaseOfAToZ() {
    #expect(CategoryMatch("").matches(""))
    #expect(CategoryMatch("meat").matches("FRZN MEAT/MEAT DINNERS"))
    #expect(CategoryMatch("Dinners").matches("FRZN MEAT/MEAT DINNERS"))
    #expect(!CategoryMatch("meats").matches("FRZN MEAT/MEAT DINNERS"))
    #expect(!CategoryMatch("soup").matches("sou"))
    #expect(CategoryMatch("É").matches("CAFÉ"))
    #expect(!CategoryMatch("é").matches("CAFÉ"))
  }

  @Test func scoresAreHeldAtTheLargestNumber() {
    #expect(Ad.score(bidCents: 49, revenueCents: .max) == .max)
    #expect(Ad.score(bidCents: 49, revenueCents: -5) == 0)
  }
}
