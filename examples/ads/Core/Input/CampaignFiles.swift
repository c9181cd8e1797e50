import Millrace

extension DataSet {
  /// Everything that happens to campaigns, sorted by time; per campaign its announcement comes first.
  ///
  /// A campaign is announced, filled with products and aimed at households at the first instant of its first day, or of
  /// the month if it began earlier. A heartbeat an hour lets event time pass in between.
  package func campaignEvents() throws(AdsError) -> [CampaignEvent] {
    let offers = try pairs("offers.csv", "product")
    let targets = try pairs("targets.csv", "household")
    var events = heartbeats()
    var reader = try CSVReader(
      path: path("campaigns.csv"), columns: ["campaign", "type", "first_day", "last_day"])
    var known: Set<Int64> = []
    while try reader.next() {
      let campaign = try reader.integer(0)
      let (first, last) = (try reader.day(2), try reader.day(3))
      if last < first {
        throw AdsError(
          .badInput, "the campaign ends on \(last), before it begins", at: reader.place(3),
          remedy: "Put its last day on or after \(first)")
      }
      known.insert(campaign)
      let households = targets[campaign]?.ids ?? []
      let type = try reader.text(1)
      let terms = CampaignEvent(
        campaign: campaign, kind: .announced, type: type, starts: first.start, ends: last.next.start,
        budgetCents: Generated.budgetCents(campaign: campaign, type: type, households: households.count),
        product: 0, bidCents: 0, household: 0, at: max(first, Self.firstDay).start)
      events.append(terms)
      events += (offers[campaign]?.ids ?? []).map { terms.offering($0) }
      events += households.map { terms.targeting($0) }
      if campaign == Generated.pausedCampaign {
        events.append(terms.turning(.paused, at: Generated.pauseBegins.start))
        events.append(terms.turning(.resumed, at: Generated.pauseEnds.start))
      }
    }
    try check(offers, known, "offers.csv")
    try check(targets, known, "targets.csv")
    return events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
  }

  /// The ids that a file lists for each campaign, and the first line that names it.
  private typealias Pairs = [Int64: (ids: [Int64], line: Int)]

  private func pairs(_ file: String, _ column: String) throws(AdsError) -> Pairs {
    var reader = try CSVReader(path: path(file), columns: ["campaign", column])
    var pairs: Pairs = [:]
    while try reader.next() {
      let id = try reader.integer(1)
      pairs[try reader.integer(0), default: ([], reader.line)].ids.append(id)
    }
    return pairs
  }

  private func check(_ pairs: Pairs, _ known: Set<Int64>, _ file: String) throws(AdsError) {
    for (campaign, (_, line)) in pairs.sorted(by: { $0.value.line < $1.value.line }) where !known.contains(campaign) {
      throw AdsError(
        .badInput, "campaign \(campaign) is not in campaigns.csv",
        at: .init(file: path(file), line: line, column: 1, field: "campaign"),
        remedy: "Add the campaign there or remove its lines here")
    }
  }

  private func heartbeats() -> [CampaignEvent] {
    let hour: Int64 = 3_600_000_000
    let hours = Int64(Self.lastDay.next.number - Self.firstDay.number) * 24
    return (1...hours).map { count in
      CampaignEvent(
        campaign: 0, kind: .heartbeat, type: "", starts: .max, ends: .min, budgetCents: 0, product: 0,
        bidCents: 0, household: 0, at: Self.firstDay.start.advanced(byMicroseconds: count * hour))
    }
  }
}

extension CampaignEvent {
  fileprivate func offering(_ product: Int64) -> CampaignEvent {
    var event = self
    event.kind = .offered
    event.product = product
    event.bidCents = Generated.bidCents(campaign: campaign, product: product)
    return event
  }

  fileprivate func targeting(_ household: Int64) -> CampaignEvent {
    var event = self
    event.kind = .targeted
    event.household = household
    return event
  }

  fileprivate func turning(_ kind: Kind, at time: Timestamp) -> CampaignEvent {
    var event = self
    event.kind = kind
    event.at = time
    return event
  }
}
