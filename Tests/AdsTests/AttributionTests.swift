import AdsCore
import Millrace
import Testing

@Suite("Attribution") struct AttributionTests {
  @Test func bothDaysOfACampaignCount() {
    var listings = Listings()
    listings.apply(terms(8, .offered, from: 8, to: 9, product: 7, bid: 20))
    let first = Day(year: 2017, month: 5, day: 8).start
    let end = Day(year: 2017, month: 5, day: 10).start
    func campaigns(_ time: Timestamp) -> [Int64] { listings.candidates(for: purchase(7, at: time)).map(\.campaign) }
    #expect(campaigns(first.advanced(byMicroseconds: -1)) == [])
    #expect(campaigns(first) == [8])
    #expect(campaigns(end.advanced(byMicroseconds: -1)) == [8])
    #expect(campaigns(end) == [])
  }

  @Test func onePurchaseCountsForEveryCampaignThatListsIt() {
    var listings = Listings()
    for campaign in [9, 3, 8] as [Int64] { listings.apply(terms(campaign, .offered, product: 7, bid: campaign)) }
    listings.apply(terms(9, .offered, product: 7, bid: 90))
    listings.apply(terms(5, .targeted, household: 1))
    let candidates = listings.candidates(for: purchase(7))
    #expect(candidates.map(\.campaign) == [3, 8, 9])
    #expect(candidates.map(\.bidCents) == [3, 8, 90])
    var targets = Targets()
    targets.apply(terms(9, .targeted, household: 1))
    targets.apply(terms(3, .targeted, household: 1))
    targets.apply(terms(8, .offered, product: 7))
    #expect(candidates.filter(targets.confirms).map(\.campaign) == [3, 9])
  }

  @Test func heldEventsComeBackInTheOrderOfTimeCampaignsFirst() {
    var held = HeldEvents<ListingInput>()
    let offer = terms(8, .offered, product: 7, bid: 1, at: noon)
    let later = noon.advanced(byMicroseconds: 1)
    held.hold(.purchase(purchase(7, basket: 3, at: later)))
    held.hold(.purchase(purchase(7, basket: 2, at: noon)))
    held.hold(.purchase(purchase(7, basket: 1, at: noon)))
    held.hold(.campaign(offer))
    #expect(held.release(upTo: noon.advanced(byMicroseconds: -1)).isEmpty)
    #expect(
      held.release(upTo: noon) == [
        .campaign(offer), .purchase(purchase(7, basket: 1, at: noon)), .purchase(purchase(7, basket: 2, at: noon)),
      ])
    #expect(held.waiting.count == 1)
    #expect(held.release(upTo: .max).count == 1)
    #expect(held.waiting.isEmpty)
  }

  /// The two steps by hand, in one thread, fed in random order and with watermarks that come at random times.
  @Test("attributions do not depend on the order of arrival", arguments: 1...10 as ClosedRange<UInt64>)
  func arrival(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let events = randomEvents(using: &random)
    let model = ReferenceModel(inventory: [], campaigns: events.campaigns, purchases: events.purchases)
    let expected = model.attributions.sorted { $0.at != $1.at ? $0.at < $1.at : orderKey($0) < orderKey($1) }

    var bySteps = Steps()
    var offers = events.campaigns.filter { $0.kind == .offered }.shuffled(using: &random)
    var targets = events.campaigns.filter { $0.kind == .targeted }.shuffled(using: &random)
    var purchases = events.purchases.shuffled(using: &random)
    while !(offers.isEmpty && targets.isEmpty && purchases.isEmpty) {
      switch Int.random(in: 0..<3, using: &random) {
      case 0: if let event = offers.popLast() { bySteps.receive(offer: event) }
      case 1: if let event = targets.popLast() { bySteps.receive(target: event) }
      default: if let event = purchases.popLast() { bySteps.receive(event) }
      }
      let waiting = (offers + targets).map(\.at) + purchases.map(\.at)
      if let earliest = waiting.min(), Int.random(in: 0..<10, using: &random) == 0 {
        bySteps.advance(to: earliest.advanced(byMicroseconds: -1))
      }
    }
    bySteps.advance(to: .max)
    #expect(!expected.isEmpty, "seed \(seed)")
    #expect(
      bySteps.attributions.sorted { $0.at != $1.at ? $0.at < $1.at : orderKey($0) < orderKey($1) } == expected,
      "seed \(seed)")
  }

  private func orderKey(_ attribution: Attribution) -> (Int64, Int64, Int64, Int64) {
    (attribution.household, attribution.basket, attribution.product, attribution.campaign)
  }

  private func randomEvents(
    using random: inout SeededGenerator
  ) -> (campaigns: [CampaignEvent], purchases: [PurchaseEvent]) {
    var campaigns: [CampaignEvent] = []
    for campaign in 1...4 as ClosedRange<Int64> {
      let first = Int.random(in: 2...20, using: &random)
      let last = Int.random(in: first...25, using: &random)
      campaigns.append(terms(campaign, from: first, to: last))
      for id in 1...6 as ClosedRange<Int64> {
        if Bool.random(using: &random) {
          campaigns.append(
            terms(campaign, .offered, from: first, to: last, product: id, bid: Int64.random(in: 1...40, using: &random))
          )
        }
        if Bool.random(using: &random) {
          campaigns.append(terms(campaign, .targeted, from: first, to: last, household: id))
        }
      }
    }
    let purchases = (1...300).map { basket in
      purchase(
        Int64.random(in: 1...6, using: &random), by: Int64.random(in: 1...6, using: &random), basket: basket,
        at: Day(year: 2017, month: 5, day: Int.random(in: 1...28, using: &random)).start)
    }
    return (campaigns, purchases)
  }
}

/// The two keyed steps of the job with dictionaries for their state.
private struct Steps {
  private var listings: [Int64: (state: Listings, held: HeldEvents<ListingInput>)] = [:]
  private var targets: [Int64: (state: Targets, held: HeldEvents<TargetInput>)] = [:]
  private(set) var attributions: [Attribution] = []

  mutating func receive(offer event: CampaignEvent) { hold(ListingInput.campaign(event)) }
  mutating func receive(_ purchase: PurchaseEvent) { hold(ListingInput.purchase(purchase)) }
  mutating func receive(target event: CampaignEvent) { hold(TargetInput.campaign(event)) }

  private mutating func hold(_ input: ListingInput) {
    listings[input.product, default: (Listings(), HeldEvents())].held.hold(input)
  }

  private mutating func hold(_ input: TargetInput) {
    targets[input.household, default: (Targets(), HeldEvents())].held.hold(input)
  }

  mutating func advance(to watermark: Timestamp) {
    for product in listings.keys {
      for input in listings[product]?.held.release(upTo: watermark) ?? [] {
        switch input {
        case .campaign(let event): listings[product]?.state.apply(event)
        case .purchase(let purchase):
          for candidate in listings[product]?.state.candidates(for: purchase) ?? [] {
            hold(TargetInput.candidate(candidate))
          }
        }
      }
    }
    for household in targets.keys {
      for input in targets[household]?.held.release(upTo: watermark) ?? [] {
        switch input {
        case .campaign(let event): targets[household]?.state.apply(event)
        case .candidate(let candidate):
          if targets[household]?.state.confirms(candidate) == true { attributions.append(candidate) }
        }
      }
    }
  }
}
