package import Millrace

/// A purchase that counts for a campaign: its household is targeted, its product is listed, its day is inside the
/// campaign.
///
/// Written to the topic `attributions`, keyed by household: a household's attributions keep the order of their time.
package struct Attribution: Record, Hashable {
  package var campaign: Int64
  package var household: Int64
  package var product: Int64
  package var basket: Int64
  /// What the purchase costs the campaign.
  package var bidCents: Int64
  package var salesCents: Int64
  package var at: Timestamp
}
