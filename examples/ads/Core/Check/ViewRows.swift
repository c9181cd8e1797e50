/// All rows of the four views, as one snapshot has them.
package struct ViewRows: Sendable {
  package var products: [Product] = []
  package var campaigns: [Campaign] = []
  package var categories: [Category] = []
  package var households: [Household] = []

  package init() {}

  package var count: Int { products.count + campaigns.count + categories.count + households.count }

  package var totals: Totals {
    var totals = Totals()
    for row in products { totals.add(row) }
    for row in campaigns { totals.add(row) }
    for row in households { totals.add(row) }
    return totals
  }

  /// Where these rows differ from those of `model`, one sentence each, at most `limit`.
  package func differences(from model: ReferenceModel, limit: Int = 10) -> [String] {
    var found: [String] = []
    compare("products", products, \.product, model.products, limit, &found)
    compare("campaigns", campaigns, \.campaign, model.campaigns, limit, &found)
    compare("categories", categories, \.category, model.categories, limit, &found)
    compare("households", households, \.household, model.households, limit, &found)
    return found
  }

  private func compare<Row: Equatable, Key: Hashable & Comparable>(
    _ view: String, _ rows: [Row], _ key: KeyPath<Row, Key>, _ expected: [Key: Row], _ limit: Int,
    _ found: inout [String]
  ) {
    func note(_ sentence: @autoclosure () -> String) { if found.count < limit { found.append(sentence()) } }
    for (row, next) in zip(rows, rows.dropFirst()) where row[keyPath: key] >= next[keyPath: key] {
      note("\(view): row \(next[keyPath: key]) follows \(row[keyPath: key]), out of the order of keys")
    }
    var missing = expected
    for row in rows {
      let id = row[keyPath: key]
      guard let right = missing.removeValue(forKey: id) else {
        note("\(view): row \(id) should not be there, or not twice")
        continue
      }
      if row != right { note("\(view): row \(id) is \(row) and should be \(right)") }
    }
    for id in missing.keys.sorted() { note("\(view): row \(id) is missing") }
  }
}

/// The attributions as the topic has them, household by household.
package struct AttributionLog: Sendable {
  private var byHousehold: [Int64: [Attribution]] = [:]

  package init() {}

  /// Adds the next attribution of a partition; all of one household lie in one partition.
  package mutating func add(_ attribution: Attribution) {
    byHousehold[attribution.household, default: []].append(attribution)
  }

  package var count: Int { byHousehold.values.reduce(0) { $0 + $1.count } }

  /// Where the topic differs from what `model` attributes: per household the same attributions in the order of time,
  /// each once.
  package func differences(from model: ReferenceModel, limit: Int = 10) -> [String] {
    let expected = Dictionary(grouping: model.attributions, by: \.household).mapValues { attributions in
      attributions.sorted { $0.at != $1.at ? $0.at < $1.at : $0.precedes($1) }
    }
    let households = Set(expected.keys).union(byHousehold.keys).sorted()
    let wrong = households.filter { byHousehold[$0] != expected[$0] }
    return wrong.prefix(limit).map { household in
      let (found, right) = (byHousehold[household] ?? [], expected[household] ?? [])
      let place = zip(found, right).enumerated().first { $1.0 != $1.1 }?.offset ?? min(found.count, right.count)
      return "attributions: household \(household) has \(found.count) and should have \(right.count); "
        + "they part at number \(place)"
    }
  }
}
