package import Millrace

/// What the commands print, as text made of rows.
package enum Report {
  /// Numbers beside what they must be.
  package static func oracles(_ oracles: [Oracle]) -> String {
    var table = TextTable([("", .left), ("expected", .right), ("found", .right), ("", .left)])
    for oracle in oracles {
      table.add([oracle.name, oracle.expected, oracle.found, oracle.holds ? "ok" : "WRONG"])
    }
    return table.text()
  }

  /// The campaigns as they stand at `time`.
  package static func campaigns(_ rows: [Campaign], at time: Timestamp) -> String {
    var table = TextTable([
      ("campaign", .right), ("type", .left), ("days", .left), ("offers", .right), ("targets", .right),
      ("purchases", .right), ("revenue", .right), ("budget", .right), ("spent", .right), ("left", .right),
      ("status", .left),
    ])
    for row in rows {
      table.add([
        "\(row.campaign)", row.type, row.isAnnounced ? days(row) : "", Money.grouped(row.offers),
        Money.grouped(row.targets), Money.grouped(row.purchases), Money.text(row.revenueCents),
        Money.text(row.budgetCents), Money.text(row.spentCents), Money.text(row.leftCents), row.status(at: time),
      ])
    }
    return table.text()
  }

  /// The ads of one selection.
  package static func ads(_ ads: [Ad]) -> String {
    if ads.isEmpty { return "  none: no live campaign that targets the household lists such a product" }
    var table = TextTable([
      ("product", .right), ("campaign", .right), ("bid", .right), ("revenue", .right), ("brand", .left),
      ("category", .left), ("type", .left),
    ])
    for ad in ads {
      table.add([
        "\(ad.product)", "\(ad.campaign)", Money.text(ad.bidCents), Money.text(ad.revenueCents), ad.brand, ad.category,
        ad.type,
      ])
    }
    return table.text()
  }

  /// The question above the ads.
  package static func title(_ query: AdQuery, campaigns: String) -> String {
    let text = query.categoryContains.isEmpty ? "any category" : "category contains \"\(query.categoryContains)\""
    let reach = campaigns.isEmpty ? "no campaign targets it" : "targeted by \(campaigns)"
    return "household \(query.household) (\(reach)), \(text), on \(Day(holding: query.at))"
  }

  private static func days(_ row: Campaign) -> String {
    "\(Day(holding: row.starts)) – \(Day(holding: row.ends.advanced(byMicroseconds: -1)))"
  }
}

extension Campaign {
  /// Why the campaign is promoted at `time`, or why not.
  package func status(at time: Timestamp) -> String {
    if !isAnnounced { return "not announced" }
    if time < starts { return "not begun" }
    if leftCents <= 0 { return "budget spent" }
    if time >= ends { return "ended" }
    return isPaused ? "paused" : "live"
  }
}

/// Which households a report shows: of each group that the same campaigns target the one that bought most.
package struct ShownHouseholds: Sendable {
  private var best: [String: Household] = [:]

  package init() {}

  package mutating func consider(_ row: Household) {
    guard !row.campaigns.isEmpty else { return }
    if let known = best[row.campaigns], (known.revenueCents, row.household) >= (row.revenueCents, known.household) {
      return
    }
    best[row.campaigns] = row
  }

  /// Up to `count` households, those that the latest campaigns target first.
  package func chosen(_ count: Int) -> [Household] {
    let ranked = best.values.sorted { left, right in
      let (mine, others) = (CampaignList(left.campaigns).all, CampaignList(right.campaigns).all)
      return mine != others ? others.reversed().lexicographicallyPrecedes(mine.reversed()) : false
    }
    return Array(ranked.prefix(count))
  }
}
