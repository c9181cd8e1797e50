/// Numbers about the whole month that are known beforehand, and the same numbers out of rows.
package struct Totals: Sendable, Hashable {
  package var revenueCents: Int64 = 0
  package var couponCents: Int64 = 0
  package var couponPurchases: Int64 = 0
  package var purchases: Int64 = 0
  package var products: Int64 = 0
  package var productsWithoutDescription: Int64 = 0
  package var baskets: Int64 = 0
  package var households: Int64 = 0
  package var attributions: Int64 = 0

  package init() {}

  /// Adds a row of the view `products`; only products that were bought are counted.
  package mutating func add(_ row: Product) {
    guard row.purchases > 0 else { return }
    revenueCents += row.revenueCents
    couponCents += row.couponCents
    couponPurchases += row.couponPurchases
    purchases += row.purchases
    products += 1
    if !row.isDescribed { productsWithoutDescription += 1 }
  }

  /// Adds a row of the view `campaigns`.
  package mutating func add(_ row: Campaign) { attributions += row.purchases }

  /// Adds a row of the view `households`; only households that bought are counted.
  package mutating func add(_ row: Household) {
    guard row.purchases > 0 else { return }
    baskets += row.baskets
    households += 1
  }

  /// What the month holds, counted in the source before this example existed; the attributions by joining its tables.
  package static let ofTheMonth: Totals = {
    var totals = Totals()
    totals.revenueCents = 40_077_104
    totals.couponCents = 277_498
    totals.couponPurchases = 2_094
    totals.purchases = 125_541
    totals.products = 24_106
    totals.productsWithoutDescription = 7
    totals.baskets = 13_663
    totals.households = 2_075
    totals.attributions = 23_734
    return totals
  }()
}

/// One number that must come out.
package struct Oracle: Sendable, Hashable {
  package var name: String
  package var expected: String
  package var found: String
  package var holds: Bool { expected == found }
}

extension Totals {
  /// These totals beside what they must be.
  package func oracles(expecting expected: Totals) -> [Oracle] {
    func number(_ name: String, _ path: KeyPath<Totals, Int64>) -> Oracle {
      Oracle(
        name: name, expected: Money.grouped(expected[keyPath: path]), found: Money.grouped(self[keyPath: path]))
    }
    func amount(_ name: String, _ path: KeyPath<Totals, Int64>) -> Oracle {
      Oracle(name: name, expected: Money.text(expected[keyPath: path]), found: Money.text(self[keyPath: path]))
    }
    return [
      amount("revenue", \.revenueCents),
      amount("coupon discount", \.couponCents),
      number("purchases with coupon", \.couponPurchases),
      number("purchases", \.purchases),
      number("products bought", \.products),
      number("… without description", \.productsWithoutDescription),
      number("baskets", \.baskets),
      number("households", \.households),
      number("attributions", \.attributions),
    ]
  }
}
