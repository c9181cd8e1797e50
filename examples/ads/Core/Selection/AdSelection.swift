import Millrace

/// The rows that a selection reads, all of one checkpoint.
package protocol AdTables {
  func household(_ id: Int64) throws -> Household?
  func campaign(_ id: Int64) throws -> Campaign?
  /// The categories that match.
  func categories(_ match: CategoryMatch) throws -> [String]
  /// Calls `body` with every product of one of the categories whose rank lies in `ranks`.
  func forEachProduct(in categories: [String], ranks: ClosedRange<Int64>, _ body: (Product) throws -> Void) throws
}

extension AdQuery {
  /// The best products for this request, best first; fewer than `count` if fewer are eligible.
  ///
  /// Eligible is a product that is purchasable, whose category matches, and that is listed by a campaign which targets
  /// the household and is live: announced, within its days, not paused, and with budget left. If several such campaigns
  /// list it, the highest bid pays for it, among equal bids the campaign with the smallest id.
  ///
  /// Looks at products from the highest rank down and stops when no product of a lower rank can be among the best: the
  /// rank goes by the highest bid for a product, which no ad exceeds.
  package func select(from tables: some AdTables) throws -> [Ad] {
    guard let household = try tables.household(household) else { return [] }
    let live = try CampaignList(household.campaigns).all.filter { id in
      try tables.campaign(id)?.isLive(at: at) ?? false
    }
    guard !live.isEmpty, count > 0 else { return [] }
    var best = BestAds(count: count)
    let categories = try tables.categories(CategoryMatch(categoryContains))
    if categories.isEmpty { return [] }
    for ranks in PromotionRank.portions {
      try tables.forEachProduct(in: categories, ranks: ranks) { product in
        if let ad = Ad(product, paidBy: live) { best.consider(ad) }
      }
      if best.isSettled(below: PromotionRank.leastScore(ranks.lowerBound)) { break }
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

  /// Whether no ad with a score below `score` can get in any more.
  func isSettled(below score: Int64) -> Bool { ads.count == count && (ads.last?.score ?? 0) >= score }

  mutating func consider(_ ad: Ad) {
    if ads.count == count {
      guard let last = ads.last, ad.outranks(last) else { return }
      ads.removeLast()
    }
    let index = ads.firstIndex { ad.outranks($0) } ?? ads.endIndex
    ads.insert(ad, at: index)
  }
}
