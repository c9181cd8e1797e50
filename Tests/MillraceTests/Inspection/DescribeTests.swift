import Foundation
import Millrace
import Testing

@Suite struct DescribeTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A job with a state of its own and an output topic, run to the end of 500 events.
  private func filledStore() async throws -> (Store, Topic<ProductEvent>) {
    let store = try Store.open(at: folder.file("store"), Store.Options(stateMapBytes: 1 << 28))
    let topic = try store.topic("events", of: ProductEvent.self, key: \.product, timestamp: \.at, partitions: 3)
    let output = try store.topic("sums", of: PromotedProduct.self, key: \.product)
    let job = try Job("sum") { flow in
      flow.from(topic).keyed()
        .fold("totals", initial: 0 as Int64) { total, event in total += event.amount }
        .map { sum in
          var row = PromotedProduct(product: "all")
          row.units = sum
          return row
        }
        .append(to: output)
    }
    try await topic.append(contentsOf: FaceTests.events(500))
    try await store.run(job, RunOptions(mode: .toEnd, parallelism: 2))
    return (store, topic)
  }

  @Test func topicsJobsAndStatesAreDescribed() async throws {
    let (store, topic) = try await filledStore()
    try await topic.append(contentsOf: FaceTests.events(17))
    let found = try store.describe()
    #expect(found.problems.isEmpty && found.checkpoint > 0)
    #expect(found.topics.map(\.name) == ["events", "sums"])
    #expect(found.topics.map(\.records) == [517, 500])
    #expect(found.topics[0].partitions.count == 3 && found.topics[0].segments.count == 1)
    #expect(found.topics.allSatisfy { $0.bytes > 0 && $0.schemas.count == 1 })
    let job = try #require(found.jobs.first)
    #expect(job.name == "sum" && job.status == "stopped" && job.parallelism == 2)
    #expect(job.sources.map(\.lag) == [17])
    #expect(job.sources[0].partitions.map(\.position).reduce(0, +) == 500)
    #expect(job.states.map(\.name) == ["totals"])
    #expect(job.states[0].approximateEntries >= 101 && job.states[0].bytes > 0)
    #expect(found.stateFile.mapLimit == 1 << 28 && found.stateFile.bytes > 0 && found.stateFile.bytes < 1 << 28)
    store.close()
  }

  @Test func aReaderSeesTheWritersMapLimitAndOpenSnapshots() async throws {
    let (store, _) = try await filledStore()
    let before = try store.describe().stateFile
    #expect(before.readers.isEmpty && before.oldestOwnReaderAge == nil)
    try store.read { _ in
      let own = StoreDescription.Reader(
        processID: ProcessInfo.processInfo.processIdentifier, commitsBehind: 0)
      let during = try store.describe().stateFile
      #expect(during.readers == [own])
      #expect(during.oldestOwnReaderAge != nil)
    }
    store.close()
    let reader = try Store.open(at: folder.file("store"), Store.Options(access: .readOnly))
    #expect(try reader.describe().stateFile.mapLimit == 1 << 28)
    reader.close()
  }

  @Test func aDescriptionIsReadBackFromJSON() async throws {
    let (store, _) = try await filledStore()
    let found = try store.describe()
    let data = try JSONEncoder().encode(found)
    #expect(try JSONDecoder().decode(StoreDescription.self, from: data) == found)
    store.close()
  }

  @Test func statesAreVerified() async throws {
    let (store, _) = try await filledStore()
    let found = try store.verify()
    #expect(found.isSound && found.unchecked.isEmpty, "\(found.damages)")
    #expect(found.jobs == 1 && found.states == 1 && found.stateEntries >= 101)
    #expect(found.records == 1000 && found.topics == 2 && found.pages > 10)
    let file = folder.file("store/state.mdb")
    store.close()
    var data = try Data(contentsOf: URL(fileURLWithPath: file))
    var places: [Int] = []
    var from = 0
    while let range = data.range(of: Data("product-42".utf8), in: from..<data.count) {
      places.append(range.lowerBound)
      from = range.upperBound
    }
    try #require(!places.isEmpty)
    for place in places { data[place] ^= 1 }
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
    try handle.write(contentsOf: data)
    try handle.close()
    let reader = try Store.open(at: folder.file("store"), Store.Options(access: .readOnly))
    let damages = try reader.verify().damages
    #expect(damages.contains { $0.subject == "job sum, state totals" && $0.path.hasSuffix("state.mdb") }, "\(damages)")
    reader.close()
  }
}
