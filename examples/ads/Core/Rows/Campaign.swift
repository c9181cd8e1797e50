package import Millrace

/// A row of the view `campaigns`: what a campaign may still spend and what came of it.
package struct Campaign: Record, Hashable {
  package var campaign: Int64
  package var isAnnounced: Bool
  package var type: String
  /// The first instant of the first day.
  package var starts: Timestamp
  /// The first instant after the last day.
  package var ends: Timestamp
  package var isPaused: Bool
  package var offers: Int64
  package var targets: Int64
  package var budgetCents: Int64
  /// What the attributed purchases would cost at their bids, beyond the budget too.
  package var dueCents: Int64
  /// What they do cost: a campaign never pays more than its budget.
  package var spentCents: Int64
  package var leftCents: Int64
  /// The purchases attributed to the campaign, and what their buyers paid.
  package var purchases: Int64
  package var revenueCents: Int64

  package init(campaign: Int64) {
    self.campaign = campaign
    isAnnounced = false
    type = ""
    starts = .max
    ends = .min
    isPaused = false
    offers = 0
    targets = 0
    budgetCents = 0
    dueCents = 0
    spentCents = 0
    leftCents = 0
    purchases = 0
    revenueCents = 0
  }

  /// Whether products of the campaign may be promoted at `time`.
  package func isLive(at time: Timestamp) -> Bool {
    isAnnounced && !isPaused && leftCents > 0 && starts <= time && time < ends
  }
}

extension Campaign {
  package mutating func apply(_ event: CampaignEvent) {
    switch event.kind {
    case .announced:
      isAnnounced = true
      type = event.type
      starts = event.starts
      ends = event.ends
      budgetCents = event.budgetCents
      settle()
    case .offered: offers += 1
    case .targeted: targets += 1
    case .paused: isPaused = true
    case .resumed: isPaused = false
    case .heartbeat: break
    }
  }

  package mutating func apply(_ event: Attribution) {
    purchases += 1
    dueCents = dueCents.saturatingAdd(event.bidCents)
    revenueCents = revenueCents.saturatingAdd(event.salesCents)
    settle()
  }

  /// Derived from two sums, and not counted down, so that it does not matter in which order events come.
  private mutating func settle() {
    spentCents = min(budgetCents, dueCents)
    leftCents = budgetCents - spentCents
  }
}
