import Millrace

/// A row of the view `households`: which campaigns reach a household, and what it bought.
package struct Household: Record, Hashable {
  package var household: Int64
  /// The campaigns that target the household; see `CampaignList`.
  package var campaigns: String
  package var baskets: Int64
  package var purchases: Int64
  package var revenueCents: Int64

  package init(household: Int64) {
    self.household = household
    campaigns = ""
    baskets = 0
    purchases = 0
    revenueCents = 0
  }
}

extension Household {
  package mutating func apply(_ event: CampaignEvent) {
    guard event.kind == .targeted else { return }
    var known = CampaignList(campaigns)
    known.insert(event.campaign)
    campaigns = known.text
  }

  package mutating func apply(_ event: PurchaseEvent) {
    purchases += 1
    revenueCents = revenueCents.saturatingAdd(event.salesCents)
  }

  /// Counts a basket, which the job makes sure to say once for each.
  package mutating func applyBasket() { baskets += 1 }
}
