import AdsCore
import Millrace
import Testing

@testable import CrashChild

extension AdsExpectation {
  /// The views are what the job makes of each topic up to the positions of its last checkpoint: nothing of a later one,
  /// nothing missing. Returns the checkpoint's number. No job may run.
  func expectWholeCheckpoint(_ ads: AdsStore, _ comment: Comment) throws -> UInt64 {
    let rows = try ads.read { try $0.allRows() }
    let (job, checkpoint) = try ads.store.read { (try $0.jobs.first, try $0.checkpoint) }
    let input = Input(self, upTo: job)
    let whole = ReferenceModel(
      inventory: input.inventory, campaigns: input.campaigns, purchases: input.purchases)
    // What a campaign owes waits for event time; everything else follows the input at once.
    let time = job?.watermarks["targets"] ?? .min
    let attributed = ReferenceModel(
      inventory: [], campaigns: input.campaigns, purchases: input.purchases.filter { $0.at <= time })
    let differences =
      rows.differences(from: whole, limit: .max).filter { !$0.hasPrefix("campaigns") }
      + rows.differences(from: attributed, limit: .max).filter { $0.hasPrefix("campaigns") }
    #expect(differences.isEmpty, "checkpoint \(checkpoint): \(comment)")
    return checkpoint
  }

  /// The events before the positions of a job's last checkpoint.
  private struct Input {
    var inventory: [InventoryEvent] = []
    var campaigns: [CampaignEvent] = []
    var purchases: [PurchaseEvent] = []

    init(_ expectation: AdsExpectation, upTo job: JobRecord?) {
      for topic in AdsWorkload.Topic.allCases {
        let events = expectation.workload.numbers(of: topic)
        let positions = job?.sources[topic.rawValue]?.map(\.position) ?? []
        for (numbers, position) in zip(expectation.partitions[topic] ?? [], positions) {
          for number in numbers.prefix(Int(position)) { add(expectation.workload.events[events[number]]) }
        }
      }
    }

    private mutating func add(_ event: FeedEvent) {
      switch event {
      case .inventory(let event): inventory.append(event)
      case .campaign(let event): campaigns.append(event)
      case .purchase(let event): purchases.append(event)
      }
    }
  }
}
