package import Millrace

/// The example's store: four topics and four views, typed.
package struct AdsStore: Sendable {
  package let store: Store
  package let inventory: Topic<InventoryEvent>
  package let campaigns: Topic<CampaignEvent>
  package let purchases: Topic<PurchaseEvent>
  package let attributions: Topic<Attribution>
  package let productRows: View<Product>
  package let campaignRows: View<Campaign>
  package let categoryRows: View<Category>
  package let householdRows: View<Household>

  /// Opens the store at `path`, to write (creating it if need be) or only to read.
  package init(at path: String, _ access: Store.Access = .readWrite) throws {
    store = try Store.open(at: path, .init(access: access))
    inventory = try store.topic(
      "inventory", of: InventoryEvent.self, key: \.product, timestamp: \.at, partitions: 4)
    // A few thousand events in one order; and with one partition its heartbeats reach every consumer.
    campaigns = try store.topic(
      "campaigns", of: CampaignEvent.self, key: \.campaign, timestamp: \.at, partitions: 1)
    purchases = try store.topic(
      "purchases", of: PurchaseEvent.self, key: \.product, timestamp: \.at, partitions: 4)
    attributions = try store.topic(
      "attributions", of: Attribution.self, key: \.household, timestamp: \.at, partitions: 4)
    // What an ad request looks for: the best of some categories, and the best of all.
    productRows = try store.view(
      "products", of: Product.self, key: \.product, indexes: [.on(\.category, \.rank), .on(\.rank)])
    campaignRows = try store.view("campaigns", of: Campaign.self, key: \.campaign)
    categoryRows = try store.view("categories", of: Category.self, key: \.category)
    householdRows = try store.view("households", of: Household.self, key: \.household)
  }
}
