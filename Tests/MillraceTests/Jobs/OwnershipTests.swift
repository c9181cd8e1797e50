import Millrace
import Testing

/// Every column of a view has one running writer.
@Suite struct OwnershipTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  struct Score: Record, Equatable {
    var key: String
    var score: Double?
  }

  @Test func asecondJobOnTheSameColumnsIsRefusedAtItsStart() async throws {
    let shop = try Shop(folder.file("store"))
    let first = try shop.store.runner(for: try shop.job("first"))
    let second = try shop.job("second")
    async let running = shop.store.run(first)
    let position = try await shop.sales.append(Sale("a", 1))
    try await shop.store.waitFor(position, in: shop.sales)
    let error = await failure(DataflowError.self) { try await shop.run(second) }
    #expect(error?.code == .duplicateOwner)
    #expect(error?.subject.hasPrefix("view:totals/") == true)
    #expect(error?.description.contains("first") == true)
    let change = await failure(DataflowError.self) {
      try await shop.store.update(shop.totals) { $0.upsert(Total(key: "z")) }
    }
    #expect(change?.code == .duplicateOwner)
    let twice = await failure(DataflowError.self) { try await shop.run(try shop.job("first")) }
    #expect(twice?.code == .alreadyRunning)
    #expect(await failure(DataflowError.self) { try shop.store.reset(job: "first") }?.code == .alreadyRunning)
    first.stop()
    #expect(try await running == .stopped)
    #expect(try shop.rows().count == 1)
    // Once it has ended, its columns are free.
    try await shop.store.update(shop.totals) { $0.upsert(Total(key: "z")) }
    #expect(try shop.rows().count == 2)
  }

  @Test func jobsThatWriteDifferentColumnsOfAViewRunTogether() async throws {
    let shop = try Shop(folder.file("store"))
    let scores = try shop.store.view(
      "totals", of: Score.self, key: \.key, policy: [.addMissingColumns, .ignoreOtherColumns])
    let totals = try shop.store.view(
      "totals", of: Total.self, key: \.key, policy: [.ignoreOtherColumns, .addMissingIndexes])
    let sums = try Job("sums") { flow in
      flow.from(shop.sales).keyed().fold(into: totals, initial: Total.init(key:)) { row, sale in row.add(sale) }
    }
    let scoring = try Job("scoring") { flow in
      flow.from(shop.sales).keyed()
        .fold(into: scores, initial: { Score(key: $0, score: 0) }) { row, sale in
          row.score = max(row.score ?? 0, Double(sale.amount))
        }
    }
    let sales = (0..<2000).map { Sale("key-\($0 % 50)", Int64($0)) }
    try await shop.sales.append(contentsOf: sales)
    async let first = shop.store.run(sums, RunOptions(mode: .toEnd, parallelism: 2, checkpoints: .everyRecords(300)))
    async let second = shop.store.run(scoring, RunOptions(mode: .toEnd, checkpoints: .everyRecords(200)))
    _ = try await (first, second)
    #expect(try shop.rows() == Total.model(sales))
    let best = try shop.store.read { try $0[scores].all.rows() }
    #expect(best.count == 50)
    for row in best { #expect(row.score == sales.filter { $0.key == row.key }.map { Double($0.amount) }.max()) }
  }
}
