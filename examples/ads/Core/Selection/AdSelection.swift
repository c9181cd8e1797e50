import Millrace

/// The rows that a selection reads, all of one checkpoint.
package protocol AdTables {
  func household(_ id: Int64) throws -> Household?
  func campaign(_ id: Int64) throws -> Campaign?
  /// Calls `body` with every described product that some campaign promotes and whose category matches.
  func forEachPromoted(inCategory match: CategoryMatch, _ body: (Product) throws -> Void) throws
}

extension AdQuery {
  /// The best products for this request, best first; fewer than `count` if fewer are eligible.
  ///
  /// Eligible is a product that is purchasable, whose category matches, and that is listed by a campaign which targets
  /// the household and is live: announced, within its days, not paused, and with budget left. If several such campaigns
  /// list it, the highest bid pays for it, among equal bids the campaign with the smallest id.
  package func select(from tables: some AdTables) throws -> [Ad] {
    guard let household = try tables.household(household) else { return [] }
    let live = try CampaignList(household.campaigns).all.filter { id in
      try tables.campaign(id)?.isLive(at: at) ?? false
    }
    guard !live.isEmpty, count > 0 else { return [] }
    var best = BestAds(count: count)
    try tables.forEachPromoted(inCategory: CategoryMatch(categoryContains)) { product in
      if let ad = Ad(product, paidBy: live) { best.consider(ad) }
    }
    return best.ads
  }
}

extension Ad {
  /// The ad for `product` that the best offer of the campaigns in `live` pays for; nil if none of them lists it.
  init?(_ product: Product, paidBy live: [Int64]) {
    guard product.isPurchasable else { return nil }
    var chosen: Offers.Offer?
    for offer in Offers(product.offers).all where live.contains(offer.campaign) {
      if offer.bidCents > chosen?.bidCents ?? .min { chosen = offer }
    }
    guard let chosen else { return nil }
    self.init(
      product: product.product, campaign: chosen.campaign, bidCents: chosen.bidCents,
      revenueCents: product.revenueCents,
      score: Self.score(bidCents: chosen.bidCents, revenueCents: product.revenueCents),
      brand: product.brand, category: product.category, type: product.type)
  }
}

/// The best so many ads of those considered, best first.
struct BestAds {
  let count: Int
  private(set) var ads: [Ad] = []

  init(count: Int) { self.count = count }

  mutating func consider(_ ad: Ad) {
    if ads.count == count {
      guard let last = ads.last, ad.outranks(last) else { return }
      ads.removeLast()
    }
    let index = ads.firstIndex { ad.outranks($0) } ?? ads.endIndex
    ads.insert(ad, at: index)
  }
}
