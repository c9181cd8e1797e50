import Millrace

/// The four views as one checkpoint has them.
package struct AdsSnapshot {
  let products: ViewReader<Product>
  let campaigns: ViewReader<Campaign>
  let categories: ViewReader<Category>
  let households: ViewReader<Household>

  fileprivate init(_ snapshot: Snapshot, _ ads: AdsStore) throws {

    checkpoint = try snapshot.checkpoint
    products = try snapshot[ads.productRows]
    campaigns = try snapshot[ads.campaignRows]
    categories = try snapshot[ads.categoryRows]
    households = try snapshot[ads.householdRows]
  }

  /// The number of the checkpoint.
  package let checkpoint: UInt64
}

extension AdsStore {
  /// Calls `body` with a snapshot across the four views, on the calling thread; it is valid inside only.
  package func read<Result>(_ body: (AdsSnapshot) throws -> Result) throws -> Result {
    try store.read { try body(AdsSnapshot($0, self)) }
  }
}

extension AdsSnapshot: AdTables {
  package func household(_ id: Int64) throws -> Household? { try households.get(id) }

  package func campaign(_ id: Int64) throws -> Campaign? { try campaigns.get(id) }

  package func categories(_ match: CategoryMatch) throws -> [String] {
    try categories.where { $0.searchText.contains(match.text) }.rows().map(\.category)
  }

  /// Through the index on category and rank; if the categories are many, through the one on rank alone.
  package func forEachProduct(
    in names: [String], ranks: ClosedRange<Int64>, _ body: (Product) throws -> Void
  ) throws {
    let ranked = products.where(\.rank, in: ranks)
    guard names.count > Self.manyCategories else {
      for product in try ranked.where({ $0.category.isOne(of: names) }).rows() { try body(product) }
      return
    }
    let names = Set(names)
    for product in try ranked.rows() where names.contains(product.category) { try body(product) }
  }

  private static let manyCategories = 40
}

extension AdsSnapshot {
  /// Every row of every view.
  package func allRows() throws -> ViewRows {
    var rows = ViewRows()
    rows.products = try products.all.rows()
    rows.campaigns = try campaigns.all.rows()
    rows.categories = try categories.all.rows()
    rows.households = try households.all.rows()
    return rows
  }

  /// How many purchases the products' rows add up to.
  package func purchasesInViews() throws -> Int64 { try products.all.sum(\.purchases) }

  /// Throws if the views do not belong together: every checkpoint has each purchase in both rows or in none.
  package func compareViews() throws {
    let ofProducts = (try products.all.sum(\.purchases), try products.all.sum(\.revenueCents))
    let ofHouseholds = (try households.all.sum(\.purchases), try households.all.sum(\.revenueCents))
    guard ofProducts == ofHouseholds else {
      throw AdsError(
        .inconsistentSnapshot,
        "at checkpoint \(checkpoint) the products add up to \(ofProducts) and the households to \(ofHouseholds)",
        remedy: "This must not happen: keep the store and report it")
    }
  }
}
