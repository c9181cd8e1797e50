package import Millrace

/// A row of the view `products`: everything that an ad request asks about a product.
package struct Product: Record, Hashable {
  package var product: Int64
  /// Whether the inventory described the product. Some are bought, and some promoted, that it never did.
  package var isDescribed: Bool
  package var department: String
  package var brand: String
  package var category: String
  package var type: String
  /// The campaigns that promote the product, with their bids; see `Offers`.
  package var offers: String
  /// The highest of these bids.
  package var bidCents: Int64
  /// How high an ad for the product could rank, see `PromotionRank`; an index on it finds the best without the rest.
  package var rank: Int64
  package var purchases: Int64
  package var units: Int64
  package var revenueCents: Int64
  package var couponCents: Int64
  /// How many purchases a coupon took something off.
  package var couponPurchases: Int64
  package var lastPurchase: Timestamp?

  package init(product: Int64) {
    self.product = product
    isDescribed = false
    department = ""
    brand = ""
    category = ""
    type = ""
    offers = ""
    bidCents = 0
    rank = PromotionRank.none
    purchases = 0
    units = 0
    revenueCents = 0
    couponCents = 0
    couponPurchases = 0
    lastPurchase = nil
  }

  /// Whether an ad for the product makes sense: one can say what it is.
  package var isPurchasable: Bool { isDescribed }
}

extension Product {
  /// What the row learns from a description: the latest one holds.
  package mutating func apply(_ event: InventoryEvent) {
    isDescribed = true
    department = event.department
    brand = event.brand
    category = event.category
    type = event.type
    updateRank()
  }

  /// What the row learns from a campaign: only offers concern it.
  package mutating func apply(_ event: CampaignEvent) {
    guard event.kind == .offered else { return }
    var known = Offers(offers)
    known.set(event.campaign, bidCents: event.bidCents)
    offers = known.text
    bidCents = known.highestBidCents
    updateRank()
  }

  /// What the row learns from a purchase. Sums saturate rather than trap: input may hold any number.
  package mutating func apply(_ event: PurchaseEvent) {
    purchases += 1
    units = units.saturatingAdd(event.quantity)
    revenueCents = revenueCents.saturatingAdd(event.salesCents)
    if event.couponCents > 0 {
      couponCents = couponCents.saturatingAdd(event.couponCents)
      couponPurchases += 1
    }
    lastPurchase = max(lastPurchase ?? event.at, event.at)
    updateRank()
  }

  private mutating func updateRank() {
    let isPromoted = isPurchasable && !offers.isEmpty
    rank = isPromoted ? PromotionRank.of(Ad.score(bidCents: bidCents, revenueCents: revenueCents)) : PromotionRank.none
  }
}
