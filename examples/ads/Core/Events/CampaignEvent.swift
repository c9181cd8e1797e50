package import Millrace

/// The campaign service says what changed in a campaign.
///
/// Every event carries the terms of its campaign (type, days, budget), so that a consumer who keys by product or by
/// household needs no second look at the campaign.
package struct CampaignEvent: Record, Hashable {
  package enum Kind: Int8, Codable, Sendable, CaseIterable {
    /// The campaign exists, with these terms.
    case announced = 0
    /// `product` is listed in the campaign at `bidCents`.
    case offered = 1
    /// `household` is targeted by the campaign.
    case targeted = 2
    /// Until it is resumed nothing of the campaign may be promoted. Purchases go on being attributed.
    case paused = 3
    case resumed = 4
    /// Nothing changed up to `at`: lets event time pass in a topic with few events.
    case heartbeat = 5
  }

  package var campaign: Int64
  package var kind: Kind
  package var type: String
  /// The first instant of the first day.
  package var starts: Timestamp
  /// The first instant after the last day.
  package var ends: Timestamp
  package var budgetCents: Int64
  /// Only for `offered`, else 0.
  package var product: Int64
  /// What an attributed purchase of `product` costs the campaign. Only for `offered`, else 0.
  package var bidCents: Int64
  /// Only for `targeted`, else 0.
  package var household: Int64
  package var at: Timestamp
}
