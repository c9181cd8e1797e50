package import Millrace

/// What the job remembers of one household to attribute its purchases: the campaigns that target it.
package struct Targets: Codable, Sendable, Hashable {
  package private(set) var campaigns: [Int64] = []

  package init() {}

  package mutating func apply(_ event: CampaignEvent) {
    guard event.kind == .targeted, !campaigns.contains(event.campaign) else { return }
    campaigns.append(event.campaign)
    campaigns.sort()
  }

  /// Whether the campaign of `candidate` targets the household.
  package func confirms(_ candidate: Attribution) -> Bool { campaigns.contains(candidate.campaign) }
}

/// What the step that looks for targets receives, keyed by household.
package enum TargetInput: Codable, Timed, Hashable {
  case campaign(CampaignEvent)
  case candidate(Attribution)

  package var at: Timestamp {
    switch self {
    case .campaign(let event): event.at
    case .candidate(let candidate): candidate.at
    }
  }

  package var household: Int64 {
    switch self {
    case .campaign(let event): event.household
    case .candidate(let candidate): candidate.household
    }
  }

  /// Campaigns before purchases: a household is targeted from the event's own instant on.
  package func goesBefore(_ other: TargetInput) -> Bool {
    switch (self, other) {
    case (.campaign(let left), .campaign(let right)): left.campaign < right.campaign
    case (.campaign, .candidate): true
    case (.candidate, .campaign): false
    case (.candidate(let left), .candidate(let right)): left.precedes(right)
    }
  }
}

extension Attribution {
  /// An order of attributions of one household and time.
  func precedes(_ other: Attribution) -> Bool {
    if (basket, product, campaign) != (other.basket, other.product, other.campaign) {
      return (basket, product, campaign) < (other.basket, other.product, other.campaign)
    }
    return (salesCents, bidCents) < (other.salesCents, other.bidCents)
  }
}
