package import Millrace

/// What the job remembers of one product to attribute its purchases: the campaigns that list it.
package struct Listings: Codable, Sendable, Hashable {
  package struct Listing: Codable, Sendable, Hashable {
    package var campaign: Int64
    package var bidCents: Int64
    package var starts: Timestamp
    package var ends: Timestamp
  }

  package private(set) var all: [Listing] = []

  package init() {}

  /// A later offer of the same campaign replaces the earlier one.
  package mutating func apply(_ event: CampaignEvent) {
    guard event.kind == .offered else { return }
    let listing = Listing(
      campaign: event.campaign, bidCents: event.bidCents, starts: event.starts, ends: event.ends)
    let index = all.firstIndex { $0.campaign >= event.campaign } ?? all.endIndex
    if index < all.endIndex, all[index].campaign == event.campaign {
      all[index] = listing
    } else {
      all.insert(listing, at: index)
    }
  }

  /// The attributions of `purchase` that hold if its household is targeted: one per campaign that lists the product on
  /// that day, campaigns in rising order.
  package func candidates(for purchase: PurchaseEvent) -> [Attribution] {
    all.compactMap { listing in
      guard listing.starts <= purchase.at, purchase.at < listing.ends else { return nil }
      return Attribution(
        campaign: listing.campaign, household: purchase.household, product: purchase.product,
        basket: purchase.basket, bidCents: listing.bidCents, salesCents: purchase.salesCents, at: purchase.at)
    }
  }
}

/// What the step that looks for listings receives, keyed by product.
package enum ListingInput: Codable, Timed, Hashable {
  case campaign(CampaignEvent)
  case purchase(PurchaseEvent)

  package var at: Timestamp {
    switch self {
    case .campaign(let event): event.at
    case .purchase(let event): event.at
    }
  }

  package var product: Int64 {
    switch self {
    case .campaign(let event): event.product
    case .purchase(let event): event.product
    }
  }

  /// Campaigns before purchases: an offer holds from its own instant on.
  package func goesBefore(_ other: ListingInput) -> Bool {
    switch (self, other) {
    case (.campaign(let left), .campaign(let right)): (left.campaign, left.bidCents) < (right.campaign, right.bidCents)
    case (.campaign, .purchase): true
    case (.purchase, .campaign): false
    case (.purchase(let left), .purchase(let right)): left.precedes(right)
    }
  }
}

extension PurchaseEvent {
  /// An order of purchases of one time.
  func precedes(_ other: PurchaseEvent) -> Bool {
    if (household, basket, product) != (other.household, other.basket, other.product) {
      return (household, basket, product) < (other.household, other.basket, other.product)
    }
    return (quantity, salesCents, couponCents) < (other.quantity, other.salesCents, other.couponCents)
  }
}
