import Millrace
import Testing

@testable import AdsCore

@Suite("Reports") struct ReportTests {
  @Test func columnsAreAsWideAsTheirWidestCell() {
    var table = TextTable([("name", .left), ("n", .right)])
    table.add(["a", "1,000"])
    table.add(["longer"])
    #expect(table.text(indent: "") == "name        n\na       1,000\nlonger")
  }

  @Test func percentilesAreTimesThatWereMeasured() {
    var latencies = Latencies()
    #expect(latencies.percentiles([0.5]) == [0])
    for count in (1...100).reversed() { latencies.add(.microseconds(count)) }
    var more = Latencies()
    more.add(.microseconds(1_000))
    latencies.add(more)
    #expect(latencies.count == 101)
    #expect(latencies.percentiles([0, 0.5, 0.95, 0.99, 1]) == [1, 51, 96, 100, 1_000])
  }

  @Test func aCampaignSaysWhyItIsNotPromoted() {
    var row = Campaign(campaign: 8)
    #expect(row.status(at: noon) == "not announced")
    row.apply(terms(8, from: 8, to: 20, budget: 10))
    #expect(row.status(at: noon) == "live")
    #expect(row.status(at: DataSet.firstDay.start) == "not begun")
    #expect(row.status(at: DataSet.lastDay.start) == "ended")
    row.apply(terms(8, .paused))
    #expect(row.status(at: noon) == "paused")
    row.dueCents = 10
    row.apply(terms(8, from: 8, to: 20, budget: 10))
    #expect(row.status(at: noon) == "budget spent")
    #expect(Report.campaigns([row], at: noon).contains("2017-05-08 – 2017-05-20"))
  }

  @Test func theBiggestBuyerOfEachAudienceIsShown() {
    var shown = ShownHouseholds()
    for (id, campaigns, revenue) in [(1, "8", 5), (2, "8", 7), (3, "3 8", 1), (4, "8 9", 1), (5, "", 99), (6, "8", 7)] {
      var row = Household(household: Int64(id))
      row.campaigns = campaigns
      row.revenueCents = Int64(revenue)
      shown.consider(row)
    }
    #expect(shown.chosen(9).map(\.household) == [4, 3, 2])
    #expect(shown.chosen(1).map(\.household) == [4])
  }
}

@Suite("Comparing with the reference model") struct ComparisonTests {
  private let model = ReferenceModel(
    inventory: [description(7, category: "SOUP")],
    campaigns: [
      terms(8), terms(8, .offered, product: 7, bid: 20), terms(8, .targeted, household: 1),
      terms(8, .targeted, household: 2),
    ],
    purchases: [purchase(7, basket: 1), purchase(7, basket: 2), purchase(7, by: 2, basket: 3), purchase(9, basket: 2)])

  private var rows: ViewRows {
    var rows = ViewRows()
    rows.products = model.products.values.sorted { $0.product < $1.product }
    rows.campaigns = Array(model.campaigns.values)
    rows.categories = Array(model.categories.values)
    rows.households = model.households.values.sorted { $0.household < $1.household }
    return rows
  }

  @Test func equalRowsHaveNoDifferences() {
    #expect(rows.differences(from: model).isEmpty)
    #expect(rows.totals.attributions == 3)
    #expect(rows.totals.baskets == 3)
  }

  @Test func aWrongAMissingASuperfluousAndAMisplacedRowAreNamed() {
    var wrong = rows
    wrong.products[1].units += 1
    wrong.households.removeLast()
    wrong.campaigns.append(Campaign(campaign: 99))
    let found = wrong.differences(from: model)
    #expect(found.count == 3)
    #expect(found[0].hasPrefix("products: row 9 is"))
    #expect(found[1] == "campaigns: row 99 should not be there, or not twice")
    #expect(found[2] == "households: row 2 is missing")
    #expect(wrong.differences(from: model, limit: 1).count == 1)
    wrong = rows
    wrong.products.reverse()
    #expect(wrong.differences(from: model) == ["products: row 7 follows 9, out of the order of keys"])
  }

  @Test func attributionsAreComparedHouseholdByHousehold() {
    var log = AttributionLog()
    for attribution in model.attributions.reversed().filter({ $0.household == 2 }) { log.add(attribution) }
    for attribution in model.attributions.filter({ $0.household == 1 }) { log.add(attribution) }
    #expect(log.count == 3)
    #expect(log.differences(from: model).isEmpty)
    log.add(model.attributions[0])
    #expect(
      log.differences(from: model)
        == ["attributions: household 1 has 3 and should have 2; they part at number 2"])
    #expect(AttributionLog().differences(from: model).count == 2)
  }
}
