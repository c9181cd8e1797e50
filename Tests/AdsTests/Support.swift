import Millrace

@testable import AdsCore

/// The project's own copy of the data, whatever the working directory.
let month = DataSet(
  folder: #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    + "/examples/ads/Data")

/// What the files hold, read once for all tests: in debug builds that takes its time.
enum Month {
  static let inventory = Result { try month.inventory() }
  static let campaigns = Result { try month.campaignEvents() }
  static let purchases = Result {
    var events: [PurchaseEvent] = []
    var reader = try month.purchases()
    while let event = try reader.next() { events.append(event) }
    return events
  }
  static let model = Result {
    ReferenceModel(inventory: try inventory.get(), campaigns: try campaigns.get(), purchases: try purchases.get())
  }
}

/// A generator whose numbers follow from its seed, for tests that print it.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

/// A reader over `text` that gets it in chunks of `chunk` bytes.
func reader(_ text: String, columns: [String], chunk: Int = 3) throws -> CSVReader {
  try reader(bytes: Array(text.utf8), columns: columns, chunk: chunk)
}

func reader(bytes: [UInt8], columns: [String], chunk: Int = 3) throws -> CSVReader {
  var rest = bytes[...]
  return try CSVReader(file: "test.csv", columns: columns) {
    let next = Array(rest.prefix(chunk))
    rest = rest.dropFirst(chunk)
    return next.isEmpty ? nil : next
  }
}

/// What `body` throws, if it is the example's own error.
func failure(_ body: () throws -> Void) -> AdsError? {
  do {
    try body()
    return nil
  } catch {
    return error as? AdsError
  }
}

let noon = Day(year: 2017, month: 5, day: 10).start.advanced(byMicroseconds: 43_200_000_000)

/// A campaign that runs from `first` to `last` May 2017, both days included.
func terms(
  _ campaign: Int64, _ kind: CampaignEvent.Kind = .announced, from first: Int = 8, to last: Int = 20,
  budget: Int64 = 1_000, product: Int64 = 0, bid: Int64 = 0, household: Int64 = 0, at: Timestamp? = nil
) -> CampaignEvent {
  let starts = Day(year: 2017, month: 5, day: first).start
  return CampaignEvent(
    campaign: campaign, kind: kind, type: "Type B", starts: starts,
    ends: Day(year: 2017, month: 5, day: last).next.start,
    budgetCents: budget, product: product, bidCents: bid, household: household, at: at ?? starts)
}

func purchase(
  _ product: Int64, by household: Int64 = 1, basket: Int64 = 1, quantity: Int64 = 1, sales: Int64 = 100,
  coupon: Int64 = 0, at: Timestamp = noon
) -> PurchaseEvent {
  PurchaseEvent(
    product: product, household: household, basket: basket, quantity: quantity, salesCents: sales,
    couponCents: coupon, at: at)
}

func description(_ product: Int64, category: String) -> InventoryEvent {
  InventoryEvent(
    product: product, department: "GROCERY", brand: "National", category: category, type: "TYPE",
    at: DataSet.firstDay.start)
}
