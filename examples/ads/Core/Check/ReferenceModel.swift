import Millrace

/// The whole computation a second time: all of the input in memory, no order of events, no job, no store.
///
/// It shares with the job the types of events and rows but none of the functions that fold them, so what both agree on
/// is right or wrong for two different reasons.
package struct ReferenceModel: Sendable {
  package private(set) var products: [Int64: Product] = [:]
  package private(set) var campaigns: [Int64: Campaign] = [:]
  package private(set) var categories: [String: Category] = [:]
  package private(set) var households: [Int64: Household] = [:]
  /// In the order of the purchases, and per purchase in the order of campaigns.
  package private(set) var attributions: [Attribution] = []

  package init(_ data: DataSet) throws(AdsError) {
    var purchases: [PurchaseEvent] = []
    var reader = try data.purchases()
    while let purchase = try reader.next() { purchases.append(purchase) }
    self.init(
      inventory: try data.inventory(), campaigns: try data.campaignEvents(), purchases: purchases)
  }

  /// - Parameters:
  ///   - inventory: of several events of one product the last counts.
  ///   - events: of several offers of one product in one campaign the last counts, for all purchases.
  package init(inventory: [InventoryEvent], campaigns events: [CampaignEvent], purchases: [PurchaseEvent]) {
    let rules = Rules(events)
    attributions = purchases.flatMap(rules.attributions)
    describe(inventory)
    list(rules)
    count(purchases)
    charge(rules)
    for (id, row) in products where row.isDescribed && !row.offers.isEmpty {
      products[id]?.rank = Int64(String(row.bidCents * row.revenueCents, radix: 2).drop { $0 == "0" }.count)
    }
  }

  private mutating func describe(_ inventory: [InventoryEvent]) {
    for event in inventory {
      var row = Product(product: event.product)
      row.isDescribed = true
      (row.department, row.brand, row.category, row.type) = (event.department, event.brand, event.category, event.type)
      products[event.product] = row
    }
    for (category, events) in Dictionary(grouping: inventory, by: \.category) {
      var row = Category(category: category)
      row.searchText = category.uppercased()
      row.descriptions = Int64(events.count)
      categories[category] = row
    }
  }

  private mutating func list(_ rules: Rules) {
    for (product, bids) in rules.bids {
      let offers = bids.sorted { $0.key < $1.key }
      products[product, default: Product(product: product)].offers =
        offers.map { "\($0.key):\($0.value)" }.joined(separator: " ")
      products[product]?.bidCents = bids.values.max() ?? 0
    }
    for (household, targeting) in rules.targets {
      households[household, default: Household(household: household)].campaigns =
        targeting.sorted().map { "\($0)" }.joined(separator: " ")
    }
  }

  private mutating func count(_ purchases: [PurchaseEvent]) {
    for (id, lines) in Dictionary(grouping: purchases, by: \.product) {
      var row = products[id] ?? Product(product: id)
      let coupons = lines.map(\.couponCents).filter { $0 > 0 }
      row.purchases = Int64(lines.count)
      row.units = lines.map(\.quantity).reduce(0, +)
      row.revenueCents = lines.map(\.salesCents).reduce(0, +)
      row.couponCents = coupons.reduce(0, +)
      row.couponPurchases = Int64(coupons.count)
      row.lastPurchase = lines.map(\.at).max()
      products[id] = row
    }
    for (id, lines) in Dictionary(grouping: purchases, by: \.household) {
      var row = households[id] ?? Household(household: id)
      row.baskets = Int64(Set(lines.map(\.basket)).count)
      row.purchases = Int64(lines.count)
      row.revenueCents = lines.map(\.salesCents).reduce(0, +)
      households[id] = row
    }
  }

  private mutating func charge(_ rules: Rules) {
    let attributed = Dictionary(grouping: attributions, by: \.campaign)
    for (id, terms) in rules.terms {
      let purchases = attributed[id] ?? []
      let due = purchases.map(\.bidCents).reduce(0, +)
      var row = Campaign(campaign: id)
      row.isAnnounced = true
      (row.type, row.starts, row.ends) = (terms.type, terms.starts, terms.ends)
      row.isPaused = rules.paused.contains(id)
      row.offers = rules.events[.offered, default: []].filter { $0 == id }.countAsInt64
      row.targets = rules.events[.targeted, default: []].filter { $0 == id }.countAsInt64
      row.budgetCents = terms.budgetCents
      row.dueCents = due
      row.spentCents = due < terms.budgetCents ? due : terms.budgetCents
      row.leftCents = terms.budgetCents - row.spentCents
      row.purchases = Int64(purchases.count)
      row.revenueCents = purchases.map(\.salesCents).reduce(0, +)
      campaigns[id] = row
    }
  }
}

/// The campaign events as tables.
private struct Rules {
  var terms: [Int64: CampaignEvent] = [:]
  /// Product → campaign → bid.
  var bids: [Int64: [Int64: Int64]] = [:]
  /// Household → campaigns.
  var targets: [Int64: Set<Int64>] = [:]
  var paused: Set<Int64> = []
  /// The campaigns of the events of each kind.
  var events: [CampaignEvent.Kind: [Int64]] = [:]

  init(_ all: [CampaignEvent]) {
    for event in all {
      events[event.kind, default: []].append(event.campaign)
      switch event.kind {
      case .announced: terms[event.campaign] = event
      case .offered: bids[event.product, default: [:]][event.campaign] = event.bidCents
      case .targeted: targets[event.household, default: []].insert(event.campaign)
      case .paused: paused.insert(event.campaign)
      case .resumed: paused.remove(event.campaign)
      case .heartbeat: break
      }
    }
  }

  /// Targeted, listed, and on a day inside the campaign.
  func attributions(of purchase: PurchaseEvent) -> [Attribution] {
    guard let listing = bids[purchase.product], let targeting = targets[purchase.household] else { return [] }
    return targeting.intersection(listing.keys).sorted().compactMap { id in
      guard let terms = terms[id], let bid = listing[id] else { return nil }
      let day = Day(holding: purchase.at)
      guard day >= Day(holding: terms.starts), day < Day(holding: terms.ends) else { return nil }
      return Attribution(
        campaign: id, household: purchase.household, product: purchase.product, basket: purchase.basket,
        bidCents: bid, salesCents: purchase.salesCents, at: purchase.at)
    }
  }
}

extension Array {
  fileprivate var countAsInt64: Int64 { Int64(count) }
}
