import Millrace
import Testing

/// Records whose bytes are not of their topic's type.
@Suite struct UndecodableTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Good, empty, cut off, of an unknown schema, good.
  private func shop(_ name: String) async throws -> Shop {
    let shop = try Shop(folder.file(name), partitions: 1)
    try await shop.sales.append(Sale("a", 1))
    let whole = try shop.sales.encoded(Sale("a", 10)).value
    let bad: [[UInt8]] = [[], Array(whole.prefix(5)), [200] + whole.dropFirst(), [0]]
    for value in bad {
      try await shop.sales.log.append(key: Array("a".utf8), value: value, timestamp: .min)
    }
    try await shop.sales.append(Sale("a", 2))
    return shop
  }

  @Test func aJobFailsNamingTheRecordAndNothingIsLost() async throws {
    let shop = try await shop("fail")
    let error = await failure(DataflowError.self) { try await shop.run(try shop.job()) }
    #expect(error?.code == .sourceFailed)
    let found = cause(StoreError.self, of: error)
    #expect(found?.code == .undecodableRecord)
    #expect(found?.path == "topic sales, partition 0, offset 1")
    #expect(found?.description.contains("onUndecodable: .skip") == true)
    #expect(try shop.rows().isEmpty)
    #expect(try shop.sales.log.endOffset(0) == 6)
    // The same job, told to leave them out, goes on from where it stood.
    try await shop.run(try shop.job(onUndecodable: .skip))
    #expect(try shop.rows()["a"]?.sum == 3)
  }

  @Test func skippedRecordsAreCounted() async throws {
    let shop = try await shop("skip")
    let runner = try shop.store.runner(for: try shop.job(onUndecodable: .skip), RunOptions(mode: .toEnd))
    try await shop.store.run(runner)
    #expect(runner.metrics?.named("sales")?.skipped == 4)
    #expect(runner.metrics?.named("sales")?.recordsOut == 2)
    #expect(try shop.rows()["a"]?.sum == 3)
    #expect(try shop.store.read { try $0.positions(of: "sales") } == [6])
  }

  @Test func aSequenceOfEventsThrowsOrSkips() async throws {
    let shop = try await shop("sequence")
    let error = await failure(StoreError.self) { for try await _ in try shop.sales.events() {} }
    #expect(error?.code == .undecodableRecord)
    #expect(error?.path == "topic sales, partition 0, offset 1")
    var offsets: [Int64] = []
    for try await entry in try shop.sales.events(onUndecodable: .skip) { offsets.append(entry.offset) }
    #expect(offsets == [0, 5])
  }
}
