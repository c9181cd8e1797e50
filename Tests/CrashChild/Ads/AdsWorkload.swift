import AdsCore
import Millrace

/// What is fed to a store: the first events of a data folder, in the order of time.
struct AdsWorkload {
  /// The topics that are fed; every one gets its events in order, and the topics are fed side by side.
  enum Topic: String, CaseIterable, Sendable {
    case inventory, campaigns, purchases
  }

  let events: [FeedEvent]

  init(folder: String, count: Int) throws {
    var feed = try Feed(DataSet(folder: folder))
    var events: [FeedEvent] = []
    while events.count < count, let event = try feed.next() { events.append(event) }
    self.events = events
  }

  /// How many events there are up to the last purchase; heartbeats of the rest of the month follow.
  var countToLastPurchase: Int { (events.lastIndex { $0.topic == .purchases } ?? -1) + 1 }

  /// The places in `events` of those that go to `topic`.
  func numbers(of topic: Topic) -> [Int] { events.indices.filter { events[$0].topic == topic } }
}

extension FeedEvent {
  var topic: AdsWorkload.Topic {
    switch self {
    case .inventory: .inventory
    case .campaign: .campaigns
    case .purchase: .purchases
    }
  }
}

extension AdsStore {
  func log(_ topic: AdsWorkload.Topic) -> LogTopic {
    switch topic {
    case .inventory: inventory.log
    case .campaigns: campaigns.log
    case .purchases: purchases.log
    }
  }

  /// The event as the log takes it.
  func encoded(_ event: FeedEvent) throws -> NewRecord {
    switch event {
    case .inventory(let event): try inventory.encoded(event)
    case .campaign(let event): try campaigns.encoded(event)
    case .purchase(let event): try purchases.encoded(event)
    }
  }

  /// How many events the topic holds: appended in order, they are the workload's first ones.
  func count(_ topic: AdsWorkload.Topic) throws -> Int {
    try log(topic).offsets().reduce(0) { $0 + Int($1.upperBound) }
  }
}
