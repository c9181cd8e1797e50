import Foundation
import Millrace
import Synchronization
import Testing

@Suite("Subscriptions to topics") struct TopicSubscriptionTests {
  private let folder: TemporaryFolder
  private let ending = SubscriptionOptions(tailing: false)

  init() throws { folder = try TemporaryFolder() }

  private func sales(_ count: Int, keys: Int = 10) -> [Sale] {
    (0..<count).map { Sale("key \($0 % keys)", Int64($0), at: Int64($0)) }
  }

  @Test func giveEventsInTheOrderOfTheirKeys() async throws {
    let shop = try Shop(folder.path)
    try await shop.sales.append(contentsOf: sales(500))
    let seen = Mutex<[String: [Int64]]>([:])
    let subscription = try shop.sales.subscribe(group: "mailer", ending)
    let counts = try await subscription.forEach(maxConcurrent: 16) { entry in
      await Task.yield()
      seen.withLock { $0[entry.event.key, default: []].append(entry.event.amount) }
    }
    #expect(counts.finished == 500)
    #expect(seen.withLock { $0.values.allSatisfy { $0.count == 50 && $0 == $0.sorted() } })
    #expect(try subscription.lag().reduce(0, +) == 0)
  }

  @Test func areCommittedByWhoIterates() async throws {
    let shop = try Shop(folder.path, partitions: 1)
    try await shop.sales.append(contentsOf: sales(10))
    let first = try shop.sales.subscribe(group: "g", ending)
    for try await entry in first.events() where entry.event.amount == 4 {
      #expect(entry.offset == 4 && entry.timestamp.microseconds == 4)
      try await first.commit(entry)
    }
    await first.close()
    let second = try shop.sales.subscribe(group: "g", ending)
    var amounts: [Int64] = []
    for try await entry in second.events() { amounts.append(entry.event.amount) }
    #expect(amounts == [5, 6, 7, 8, 9])
    try await second.commitAll()
    #expect(try second.lag() == [0])
  }

  @Test func workInAStoreThatIsOpenForReading() async throws {
    let shop = try Shop(folder.path)
    try await shop.sales.append(contentsOf: sales(100))
    let reading = try Store.open(at: folder.path, Store.Options(access: .readOnly))
    let topic = try reading.topic("sales", of: Sale.self, key: \.key, timestamp: \.at, partitions: 4)
    let counts = try await topic.subscribe(group: "reader", ending).forEach(maxConcurrent: 64) { _ in }
    #expect(counts.finished == 100)
    #expect(try shop.store.log.group("reader").lag == 0)
  }

  @Test func recordsOfAnotherTypeFollowThePolicy() async throws {
    let shop = try Shop(folder.path, partitions: 1)
    let letters = try shop.store.log.topic("letters", TopicOptions())
    try await shop.sales.append(Sale("a", 1))
    try await shop.sales.log.append(key: Array("a".utf8), value: [0, 1], timestamp: Timestamp(microseconds: 0))
    try await shop.sales.append(Sale("a", 2))
    func amounts(_ group: String, _ policy: FailurePolicy) async throws -> [Int64] {
      var amounts: [Int64] = []
      for try await entry in try shop.sales.subscribe(group: group, ending, onUndecodable: policy).events() {
        amounts.append(entry.event.amount)
      }
      return amounts
    }
    let failed = await failure(StoreError.self) { try await amounts("a", .fail) }
    #expect(failed?.code == .undecodableRecord)
    #expect(try await amounts("b", .skip) == [1, 2])
    #expect(try await amounts("c", .deadLetter(letters)) == [1, 2])
    #expect(try letters.endOffset(0) == 1)

    // Such a record is not tried again.
    let stopped = await failure(EventLogError.self) {
      try await shop.sales.subscribe(group: "d", ending).forEach(maxConcurrent: 64) { _ in }
    }
    #expect(stopped?.code == .recordFailed)
    #expect((stopped?.underlying as? StoreError)?.code == .undecodableRecord)
    #expect(stopped?.attempts == 1)
    let skipping = try shop.sales.subscribe(group: "e", ending, onUndecodable: .skip)
    #expect(try await skipping.forEach(maxConcurrent: 64) { _ in } == DeliveryCounts(finished: 2, skipped: 1))
    let lettering = try shop.sales.subscribe(group: "f", ending, onUndecodable: .deadLetter(letters))
    #expect(try await lettering.forEach(maxConcurrent: 64) { _ in } == DeliveryCounts(finished: 2, deadLettered: 1))
    var reasons: [String] = []
    for try await letter in letters.records(partition: 0, from: 0) {
      reasons += letter.headers.filter { $0.name == DeadLetterHeader.group }.map {
        String(decoding: $0.value, as: UTF8.self)
      }
    }
    #expect(reasons == ["c", "f"])
  }
}
