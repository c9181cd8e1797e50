/// The campaigns that promote a product and what each bids for it, as one column of text: `8:35 9:12`.
///
/// Text, because a view's columns hold plain values and because it can be read in the output of `millrace query`.
/// Campaigns stand in rising order, so that equal offers are equal text.
package struct Offers: Hashable, Sendable {
  package struct Offer: Hashable, Sendable {
    package var campaign: Int64
    package var bidCents: Int64
  }

  package private(set) var all: [Offer] = []

  package init() {}

  /// Reads what `text` wrote; parts that are no offers are left out.
  package init(_ text: String) {
    var number: Int64 = 0
    var campaign: Int64?
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number &* 10 &+ Int64(byte - UInt8(ascii: "0"))
      case UInt8(ascii: ":"):
        campaign = number
        number = 0
      default:
        if let campaign { all.append(Offer(campaign: campaign, bidCents: number)) }
        campaign = nil
        number = 0
      }
    }
    if let campaign { all.append(Offer(campaign: campaign, bidCents: number)) }
  }

  package var text: String { all.map { "\($0.campaign):\($0.bidCents)" }.joined(separator: " ") }

  /// The highest bid, 0 if nobody bids.
  package var highestBidCents: Int64 { all.reduce(0) { max($0, $1.bidCents) } }

  /// Adds the offer of a campaign or replaces it.
  package mutating func set(_ campaign: Int64, bidCents: Int64) {
    let index = all.firstIndex { $0.campaign >= campaign } ?? all.endIndex
    if index < all.endIndex, all[index].campaign == campaign {
      all[index].bidCents = bidCents
    } else {
      all.insert(Offer(campaign: campaign, bidCents: bidCents), at: index)
    }
  }
}

/// The campaigns that target a household, as one column of text in rising order: `3 8 9`.
package struct CampaignList: Hashable, Sendable {
  package private(set) var all: [Int64] = []

  package init() {}

  package init(_ text: String) { all = text.split(separator: " ").compactMap { Int64($0) } }

  package var text: String { all.map(String.init).joined(separator: " ") }

  package mutating func insert(_ campaign: Int64) {
    let index = all.firstIndex { $0 >= campaign } ?? all.endIndex
    if index < all.endIndex, all[index] == campaign { return }
    all.insert(campaign, at: index)
  }
}
