package import Millrace

/// What an ad request asks: the best products to promote to a household among those whose category contains a text.
package struct AdQuery: Sendable, Hashable {
  package var household: Int64
  /// Letters A to Z match their small forms too; the empty text is in every category.
  package var categoryContains: String
  /// The time of the request: campaigns out of date at it are not promoted.
  package var at: Timestamp
  /// How many products are wanted.
  package var count: Int

  package init(household: Int64, categoryContains: String, at: Timestamp, count: Int = 10) {
    self.household = household
    self.categoryContains = categoryContains
    self.at = at
    self.count = count
  }
}

/// A product chosen for a request, and the campaign that would pay for it.
package struct Ad: Sendable, Hashable {
  package var product: Int64
  package var campaign: Int64
  package var bidCents: Int64
  package var revenueCents: Int64
  package var score: Int64
  package var brand: String
  package var category: String
  package var type: String

  /// What an ad is ranked by: its bid times the product's revenue so far, in cents squared; held at `Int64.max`.
  ///
  /// The bid is what the campaign pays when the product is bought, and revenue stands in for how likely that is: there
  /// are no clicks in the data set to learn that from.
  package static func score(bidCents: Int64, revenueCents: Int64) -> Int64 {
    let (product, overflow) = bidCents.multipliedReportingOverflow(by: max(0, revenueCents))
    return overflow ? .max : product
  }

  /// Whether `self` is promoted before `other`: by score, then by bid, then the smaller product id. A total order, so
  /// that a selection has one right answer.
  package func outranks(_ other: Ad) -> Bool {
    if score != other.score { return score > other.score }
    if bidCents != other.bidCents { return bidCents > other.bidCents }
    return product < other.product
  }
}
