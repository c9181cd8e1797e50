import Millrace
import Synchronization
import Testing

/// Jobs whose place in the log is not there.
@Suite struct RetentionTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Reads 100 records, then loses the next ones to retention.
  private func overtaken() async throws -> Shop {
    let store = try Store.open(at: folder.file("store"))
    _ = try store.topic(
      "sales", of: Sale.self, key: \.key, timestamp: \.at,
      options: TopicOptions(segmentBytes: 1 << 20, retentionBytes: 1 << 20))
    store.close()
    let shop = try Shop(folder.file("store"), partitions: 1)
    try await shop.sales.append(contentsOf: (0..<100).map { Sale("early", $0) })
    try await shop.run(try shop.job())
    let padding = String(repeating: "x", count: 5000)
    for part in 0..<12 {
      try await shop.sales.append(contentsOf: (0..<100).map { Sale(padding, Int64(part * 100 + $0)) })
    }
    try await shop.store.maintain()
    #expect(try shop.sales.log.startOffset(0) > 100)
    return shop
  }

  @Test func retentionThatOvertookAJobIsAnErrorWithTheValidRange() async throws {
    let shop = try await overtaken()
    let range = try #require(try shop.sales.log.offsets().first)
    for mode in [RunMode.toEnd, .unbounded] {
      let error = await failure(DataflowError.self) { try await shop.store.run(try shop.job(), RunOptions(mode: mode)) }
      #expect(error?.code == .sourceFailed)
      let gone = cause(EventLogError.self, of: error)
      #expect(gone?.code == .offsetOutOfRange)
      #expect(gone?.validRange == range)
      #expect(gone?.topic == "sales")
      #expect(gone?.partition == 0)
    }
    // A person who resets the job has decided.
    try shop.store.reset(job: "totals")
    try await shop.run(try shop.job())
    #expect(try shop.store.read { try $0.positions(of: "sales") } == [range.upperBound])
  }

  @Test func aJobThatMayLeaveRecordsOutGoesOnAndCountsThem() async throws {
    let shop = try await overtaken()
    let range = try #require(try shop.sales.log.offsets().first)
    let job = try Job("totals") { flow in
      flow.from(shop.sales, onRemoved: .skip).keyed()
        .fold(into: shop.totals, initial: Total.init(key:)) { row, sale in row.add(sale) }
    }
    let runner = try shop.store.runner(for: job, RunOptions(mode: .toEnd))
    try await shop.store.run(runner)
    #expect(runner.metrics?.named("sales")?.skipped == Int(range.lowerBound) - 100)
    #expect(try shop.store.read { try $0.positions(of: "sales") } == [range.upperBound])
    #expect(try shop.rows().values.map(\.count).reduce(0, +) == 100 + Int64(range.count))
  }

  @Test(arguments: [1, 2]) func aPositionBeyondTheEndOfTheLogIsAnErrorAndNeverClamped(parallelism: Int) async throws {
    let shop = try Shop(folder.file("store"), partitions: 2)
    try await shop.sales.append(contentsOf: (0..<50).map { Sale("key-\($0)", 1) })
    try await shop.run(try shop.job())
    try shop.store.log.deleteTopic("sales")
    let sales = try shop.store.topic("sales", of: Sale.self, key: \.key, timestamp: \.at, partitions: 2)
    let job = try Job("totals") { flow in
      flow.from(sales).keyed().fold(into: shop.totals, initial: Total.init(key:)) { row, sale in row.add(sale) }
    }
    let before = try shop.rows()
    for mode in [RunMode.toEnd, .unbounded] {
      let error = await failure(DataflowError.self) {
        try await shop.store.run(job, RunOptions(mode: mode, parallelism: parallelism))
      }
      #expect(cause(EventLogError.self, of: error)?.code == .offsetOutOfRange)
      #expect(cause(EventLogError.self, of: error)?.validRange == 0..<0)
    }
    #expect(try shop.rows() == before)
  }
}
