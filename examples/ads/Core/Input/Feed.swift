package import Millrace

/// One event of any of the three topics.
package enum FeedEvent: Sendable {
  case inventory(InventoryEvent)
  case campaign(CampaignEvent)
  case purchase(PurchaseEvent)

  package var at: Timestamp {
    switch self {
    case .inventory(let event): event.at
    case .campaign(let event): event.at
    case .purchase(let event): event.at
    }
  }
}

/// All events of the data set in the order of time; at equal times inventory comes first and purchases last.
package struct Feed {
  private let inventory: [InventoryEvent]
  private let campaigns: [CampaignEvent]
  private var purchases: PurchaseReader
  private var nextInventory = 0
  private var nextCampaign = 0
  private var waiting: PurchaseEvent?

  package init(_ data: DataSet) throws(AdsError) {
    inventory = try data.inventory()
    campaigns = try data.campaignEvents()
    purchases = try data.purchases()
    waiting = try purchases.next()
  }

  package mutating func next() throws(AdsError) -> FeedEvent? {
    let inventoryTime = nextInventory < inventory.count ? inventory[nextInventory].at : .max
    let campaignTime = nextCampaign < campaigns.count ? campaigns[nextCampaign].at : .max
    let purchaseTime = waiting?.at ?? .max
    if nextInventory < inventory.count, inventoryTime <= campaignTime, inventoryTime <= purchaseTime {
      nextInventory += 1
      return .inventory(inventory[nextInventory - 1])
    }
    if nextCampaign < campaigns.count, campaignTime <= purchaseTime {
      nextCampaign += 1
      return .campaign(campaigns[nextCampaign - 1])
    }
    guard let purchase = waiting else { return nil }
    waiting = try purchases.next()
    return .purchase(purchase)
  }
}
