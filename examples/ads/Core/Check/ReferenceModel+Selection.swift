import Millrace

extension ReferenceModel {
  /// The right answer to `query`, the slow way: make every ad there is, keep the eligible ones, sort all of them.
  package func select(_ query: AdQuery) -> [Ad] {
    let needle = query.categoryContains.lowercased()
    let targeting = Set((households[query.household]?.campaigns ?? "").split(separator: " ").compactMap { Int64($0) })
    let ads = products.values.flatMap { product in
      offers(of: product).compactMap { campaign, bid -> Ad? in
        guard product.isDescribed, targeting.contains(campaign), mayPay(campaign, query.at),
          needle.isEmpty || product.category.lowercased().contains(needle)
        else { return nil }
        return Ad(
          product: product.product, campaign: campaign, bidCents: bid, revenueCents: product.revenueCents,
          score: bid * product.revenueCents, brand: product.brand, category: product.category, type: product.type)
      }
    }
    let ranked = ads.sorted { left, right in
      (right.score, right.bidCents, left.product, left.campaign)
        < (left.score, left.bidCents, right.product, right.campaign)
    }
    var promoted: Set<Int64> = []
    return Array(ranked.filter { promoted.insert($0.product).inserted }.prefix(query.count))
  }

  private func mayPay(_ id: Int64, _ time: Timestamp) -> Bool {
    guard let campaign = campaigns[id] else { return false }
    return !campaign.isPaused && campaign.dueCents < campaign.budgetCents
      && campaign.starts <= time && time < campaign.ends
  }

  private func offers(of product: Product) -> [(campaign: Int64, bid: Int64)] {
    product.offers.split(separator: " ").compactMap { offer in
      let parts = offer.split(separator: ":").compactMap { Int64($0) }
      return parts.count == 2 ? (parts[0], parts[1]) : nil
    }
  }
}
