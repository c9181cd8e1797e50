package import Millrace

/// The part of the job that finds attributions and first lines of baskets: streams in, streams out.
package enum AttributionFlow {
  /// The attributions of `purchases`, in the order of event time per household.
  ///
  /// - Parameters:
  ///   - purchases: in any order across partitions; they wait for event time to pass them.
  ///   - offers: the campaign events that list a product.
  ///   - targets: the campaign events that target a household.
  package static func attributions(
    of purchases: Stream<PurchaseEvent>, offers: Stream<CampaignEvent>, targets: Stream<CampaignEvent>
  ) -> Stream<Attribution> {
    let candidates = purchases.map { ListingInput.purchase($0) }.union(offers.map { .campaign($0) })
      .keyed(by: \.product)
      .process("listings", state: ListingStep.self, emitting: Attribution.self) { input, context in
        context.state = context.state ?? ListingStep()
        context.state?.held.hold(input)
        context.setTimer(at: input.at)
      } onTimer: { time, context in
        for candidate in context.state?.advance(to: time) ?? [] { context.emit(candidate) }
      }
    return candidates.map { TargetInput.candidate($0) }.union(targets.map { .campaign($0) })
      .keyed(by: \.household)
      .process("targets", state: TargetStep.self, emitting: Attribution.self) { input, context in
        context.state = context.state ?? TargetStep()
        context.state?.held.hold(input)
        context.setTimer(at: input.at)
      } onTimer: { time, context in
        for attribution in context.state?.advance(to: time) ?? [] { context.emit(attribution) }
      }
  }

  /// One change for the first line of each basket, whichever line comes first.
  package static func baskets(of purchases: Stream<PurchaseEvent>) -> Stream<HouseholdChange> {
    purchases.keyed(by: \.basket)
      .process("baskets", state: Bool.self, emitting: HouseholdChange.self) { purchase, context in
        guard context.state == nil else { return }
        context.state = true
        context.emit(.basket(household: purchase.household))
      }
  }
}
