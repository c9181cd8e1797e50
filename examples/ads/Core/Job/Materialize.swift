package import Millrace

extension AdsStore {
  /// The job that keeps the four views, and the topic `attributions`, in step with the three topics of events.
  ///
  /// It is replayable: the attributions are found in the order of event time, and everything else commutes (see
  /// `Changes.swift`). The same events make the same rows, at any parallelism.
  package func materialize() throws -> Job {
    try Job("materialize") { flow in
      let inventory = flow.from(self.inventory)
      let campaigns = flow.from(self.campaigns).filter { $0.kind != .heartbeat }
      let purchases = flow.from(self.purchases)
      let offers = campaigns.filter { $0.kind == .offered }
      let targets = campaigns.filter { $0.kind == .targeted }

      inventory.map { ProductChange.inventory($0) }
        .union(offers.map { .campaign($0) }, purchases.map { .purchase($0) })
        .keyed(by: \.product)
        .fold(into: self.productRows, initial: Product.init(product:)) { row, change in row.apply(change) }

      inventory.keyed(by: \.category)
        .fold(into: self.categoryRows, initial: Category.init(category:)) { row, event in row.apply(event) }

      let attributions = AttributionFlow.attributions(of: purchases, offers: offers, targets: targets)
      attributions.append(to: self.attributions)

      campaigns.map { CampaignChange.campaign($0) }
        .union(attributions.map { .attribution($0) })
        .keyed(by: \.campaign)
        .fold(into: self.campaignRows, initial: Campaign.init(campaign:)) { row, change in row.apply(change) }

      targets.map { HouseholdChange.campaign($0) }
        .union(purchases.map { .purchase($0) }, AttributionFlow.baskets(of: purchases))
        .keyed(by: \.household)
        .fold(into: self.householdRows, initial: Household.init(household:)) { row, change in row.apply(change) }
    }
  }
}
