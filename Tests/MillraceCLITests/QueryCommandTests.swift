import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct QueryCommandTests {
  @Test func allRowsComeInTheOrderOfTheirKeys() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("query", sample.path, "products", "--json")
    #expect(run.code == 0)
    let objects = try run.objects()
    #expect(objects.map { $0["product"] as? String } == SampleStore.rows.map(\.product))
    #expect(objects.map { $0["units"] as? Int64 } == SampleStore.rows.map(\.units))
    #expect(objects.map { $0["bid"] as? Double } == SampleStore.rows.map(\.bid))
    for (object, row) in zip(objects, SampleStore.rows) {
      #expect((object["campaign"] as? Int).map { Int32($0) } == row.campaign)
      #expect(object["seen"] as? String == TimeText.of(row.seen))
    }
    let table = CommandRun("query", sample.path, "products", width: 60)
    #expect(table.lines.count == 22 && table.lines[0].hasPrefix("product"))
  }

  typealias FilterCase = (filter: String, holds: @Sendable (ProductRow) -> Bool)

  static let filters: [FilterCase] = [
    ("units > 90", { row in row.units > 90 }),
    ("campaign = 3", { row in row.campaign == 3 }),
    ("campaign is null and units >= 10", { row in row.campaign == nil && row.units >= 10 }),
    ("campaign is not null", { row in row.campaign != nil }),
    ("campaign < 9", { row in row.campaign.map { value in value < 9 } ?? false }),
    ("not campaign < 9", { row in !(row.campaign.map { value in value < 9 } ?? false) }),
    (
      "campaign in (3, null) or product ends with '5'",
      { row in row.campaign == 3 || row.campaign == nil || row.product.hasSuffix("5") }
    ),
    ("product starts with 'product-1' and bid >= 0.5", { row in row.product.hasPrefix("product-1") && row.bid >= 0.5 }),
    ("product contains 'ct-07'", { row in row.product.contains("ct-07") }),
    ("units > 90.5 and bid < 3", { row in Double(row.units) > 90.5 && row.bid < 3 }),
    ("campaign = 99999999999", { _ in false }),
    ("seen >= '2023-11-14T22:13:20.390'", { row in row.seen.microseconds >= 1_700_000_000_390_000 }),
    ("product = 'product-03'", { row in row.product == "product-03" }),
    ("(units = 1 or units <> 1) and not (bid = 0)", { row in row.bid != 0 }),
  ]

  @Test(arguments: 0..<filters.count)
  func filtersAreThoseOfPlainSwift(number: Int) async throws {
    let (filter, holds) = Self.filters[number]
    let sample = try await SampleStore()
    let run = CommandRun("query", sample.path, "products", "--where", filter, "--columns", "product", "--csv")
    #expect(run.code == 0, "\(run.errors)")
    #expect(run.lines == ["product"] + SampleStore.rows.filter(holds).map(\.product), "\(filter)")
  }

  @Test func rowsAreSortedAndCut() async throws {
    let sample = try await SampleStore()
    func products(_ arguments: String...) -> [String] {
      let base = ["query", sample.path, "products", "--columns", "product", "--csv"] + arguments
      var output: [UInt8] = []
      let console = Console(output: { output += $0 }, error: { Issue.record("\($0)") })
      #expect(MillraceCommand(console: console).run(base) == 0)
      return String(decoding: output, as: UTF8.self).split(separator: "\n").dropFirst().map(String.init)
    }
    let rows = SampleStore.rows
    let byUnits = rows.sorted { ($1.units, $0.product) < ($0.units, $1.product) }.map(\.product)
    #expect(products("--order", "units:desc") == byUnits)
    #expect(products("--order", "units:desc", "--limit", "3") == Array(byUnits.prefix(3)))
    let byTwo = rows.sorted { left, right in
      left.bid != right.bid ? left.bid < right.bid : (left.units, right.product) > (right.units, left.product)
    }.map(\.product)
    #expect(products("--order", "bid,units:desc") == byTwo)
    #expect(products("--order", "bid,units:desc", "--limit", "4") == Array(byTwo.prefix(4)))
    #expect(products("--limit", "2") == rows.prefix(2).map(\.product))
    let even = rows.filter { !($0.units < 50) }.map(\.product)
    #expect(products("--where", "not units < 50", "--limit", "2") == Array(even.prefix(2)))
    let campaigns = rows.sorted { left, right in
      left.campaign != right.campaign
        ? (left.campaign ?? .min) < (right.campaign ?? .min) : left.product < right.product
    }.map(\.product)
    #expect(products("--order", "campaign") == campaigns)
  }

  @Test func whatIsWrongIsSaidWithTheWayOut() async throws {
    let sample = try await SampleStore()
    for (arguments, code, text) in [
      (["query", sample.path, "product"], 1, "has no view 'product' (did you mean 'products'?)"),
      (["query", sample.path, "xyzzy"], 1, "has no view 'xyzzy'; there are products"),
      (["query", sample.path, "products", "--where", "unit = 1"], 64, "has no column 'unit' (did you mean 'units'?)"),
      (
        ["query", sample.path, "products", "--columns", "nothing"], 64, "there are product, campaign, bid, units, seen"
      ),
      (["query", sample.path, "products", "--order", "bidd"], 64, "did you mean 'bid'?"),
      (["query", sample.path, "products", "--where", "units = 'x'"], 64, "column 'units' is Int64: \"x\" is a text"),
      (["query", sample.path, "products", "--where", "product = 7"], 64, "write a text in quotes"),
      (["query", sample.path, "products", "--where", "seen > 'soon'"], 64, "write a time as"),
      (["query", sample.path, "products", "--where", "units contains 'x'"], 64, "only texts can be searched"),
    ] as [([String], Int32, String)] {
      var errors = ""
      let console = Console(output: { _ in }, error: { errors += $0 })
      #expect(MillraceCommand(console: console).run(arguments) == code)
      #expect(errors.contains(text), "\(errors)")
    }
  }

  @Test func aReaderThatGoesAwayIsNoFailure() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("query", sample.path, "products", output: 0)
    #expect(run.code == 0 && run.output == "" && run.errors == "")
  }
}
