import Millrace
import Testing

@Suite struct AppendingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func anAppendThatExpectsAnEndIsRefusedOnceAnotherCameFirst() async throws {
    let store = try Store.open(at: folder.file("store"))
    let topic = try store.topic("events", of: ProductEvent.self, key: \.product, timestamp: \.at)
    let events = FaceTests.events(10)
    #expect(try await topic.append(events[0], expecting: 0).offset == 0)
    #expect(try await topic.append(contentsOf: Array(events[1..<5]), expecting: 1).map(\.offset) == [1, 2, 3, 4])
    for stale in [0, 4, 6] as [Int64] {
      do {
        try await topic.append(contentsOf: Array(events[5...]), expecting: stale)
        Issue.record("an append expecting \(stale) was not refused")
      } catch let error as EventLogError {
        #expect(error.code == .unexpectedOffset && error.actualOffset == 5)
      }
    }
    var found: [ProductEvent] = []
    for try await entry in topic.events(partition: 0, from: 0) { found.append(entry.event) }
    #expect(found.map(\.amount) == events[..<5].map(\.amount))
    store.close()
  }

  @Test func whatIsEnqueuedIsThereAfterAFlushAndTheBoundOnlySuspends() async throws {
    var options = Store.Options()
    options.log.maximumPendingBytes = 4096
    let store = try Store.open(at: folder.file("store"), options)
    let topic = try store.topic("events", of: ProductEvent.self, key: \.product, timestamp: \.at, partitions: 3)
    let events = FaceTests.events(2000)
    for event in events { try await topic.enqueue(event) }
    try await topic.flush()
    #expect(try topic.log.offsets().map(\.count).reduce(0, +) == 2000)
    store.close()
  }
}
