/// What can change a row of `products`.
package enum ProductChange: Sendable {
  case inventory(InventoryEvent)
  case campaign(CampaignEvent)
  case purchase(PurchaseEvent)

  package var product: Int64 {
    switch self {
    case .inventory(let event): event.product
    case .campaign(let event): event.product
    case .purchase(let event): event.product
    }
  }
}

/// What can change a row of `campaigns`.
package enum CampaignChange: Sendable {
  case campaign(CampaignEvent)
  case attribution(Attribution)

  package var campaign: Int64 {
    switch self {
    case .campaign(let event): event.campaign
    case .attribution(let attribution): attribution.campaign
    }
  }
}

/// What can change a row of `households`.
package enum HouseholdChange: Sendable {
  case campaign(CampaignEvent)
  case purchase(PurchaseEvent)
  /// The first line of a basket was seen.
  case basket(household: Int64)

  package var household: Int64 {
    switch self {
    case .campaign(let event): event.household
    case .purchase(let event): event.household
    case .basket(let household): household
    }
  }
}

// Rows are folded from several topics whose order among each other is open. The events of one topic come in the order
// they were appended in, and what comes from different topics commutes: so the same events always make the same row.

extension Product {
  package mutating func apply(_ change: ProductChange) {
    switch change {
    case .inventory(let event): apply(event)
    case .campaign(let event): apply(event)
    case .purchase(let event): apply(event)
    }
  }
}

extension Campaign {
  package mutating func apply(_ change: CampaignChange) {
    switch change {
    case .campaign(let event): apply(event)
    case .attribution(let attribution): apply(attribution)
    }
  }
}

extension Household {
  package mutating func apply(_ change: HouseholdChange) {
    switch change {
    case .campaign(let event): apply(event)
    case .purchase(let event): apply(event)
    case .basket: applyBasket()
    }
  }
}
