package import Millrace

/// Appends the events of the data set to the topics in the order of time.
///
/// What the campaign and inventory services said is durable before the first purchase that comes after it is appended,
/// as it would be had the services published it as it happened.
package struct Feeder {
  private let store: AdsStore
  private var feed: Feed
  private var waiting: FeedEvent?
  private var hasUnflushedNews = false
  /// How many events were appended so far.
  package private(set) var count = 0

  package init(_ store: AdsStore, _ data: DataSet) throws {
    self.store = store
    feed = try Feed(data)
    waiting = try feed.next()
  }

  /// Whether everything was appended.
  package var isDone: Bool { waiting == nil }

  /// Appends every event up to `time`; they are durable when it returns.
  package mutating func advance(to time: Timestamp) async throws {
    while let event = waiting, event.at <= time {
      try await append(event)
      count += 1
      waiting = try feed.next()
    }
    try await store.inventory.flush()
    try await store.campaigns.flush()
    try await store.purchases.flush()
    hasUnflushedNews = false
  }

  private mutating func append(_ event: FeedEvent) async throws {
    switch event {
    case .inventory(let event):
      hasUnflushedNews = true
      try await store.inventory.enqueue(event)
    case .campaign(let event):
      // A heartbeat says nothing that a purchase could depend on.
      if event.kind != .heartbeat { hasUnflushedNews = true }
      try await store.campaigns.enqueue(event)
    case .purchase(let event):
      if hasUnflushedNews {
        try await store.inventory.flush()
        try await store.campaigns.flush()
        hasUnflushedNews = false
      }
      try await store.purchases.enqueue(event)
    }
  }
}

extension AdsStore {
  /// What the topics hold of the data set.
  package enum Content: Sendable, Equatable {
    case nothing
    case everything
    /// A feed was interrupted, or the data set is another one.
    case something(found: Int64, expected: Int64)
  }

  package func content(expecting data: DataSet) throws -> Content {
    var found: Int64 = 0
    for ranges in [try inventory.log.offsets(), try campaigns.log.offsets(), try purchases.log.offsets()] {
      found += ranges.reduce(0) { $0 + $1.upperBound }
    }
    if found == 0 { return .nothing }
    var expected = Int64(try data.inventory().count + data.campaignEvents().count)
    var reader = try data.purchases()
    while try reader.next() != nil { expected += 1 }
    return found == expected ? .everything : .something(found: found, expected: expected)
  }

  /// Appends the whole data set unless it is there already; returns how many events were appended.
  package func feed(_ data: DataSet) async throws -> Int {
    switch try content(expecting: data) {
    case .everything: return 0
    case .something(let found, let expected):
      throw AdsError(
        .badInput, "the store's topics hold \(found) events where the data set has \(expected)",
        at: .init(file: store.path), remedy: "Begin again with --fresh")
    case .nothing:
      var feeder = try Feeder(self, data)
      try await feeder.advance(to: .max)
      return feeder.count
    }
  }
}
