import Millrace
import Testing

/// What a fold into a view leaves of a record on which its closure throws, and how it deletes.
@Suite struct ErrorsInFoldsTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  struct Refused: Error {}

  /// Odd amounts are refused, after the row was changed.
  private func job(_ shop: Shop, _ policy: ErrorPolicy<Sale>, output: Topic<Total>? = nil) throws -> Job {
    try Job("totals") { flow in
      let rows = flow.from(shop.sales).keyed()
        .fold(into: shop.totals, initial: Total.init(key:), onError: policy) { row, sale in
          row.add(sale)
          if sale.amount % 2 != 0 { throw Refused() }
        }
      if let output { rows.append(to: output) }
    }
  }

  @Test(arguments: [1, 3]) func aSkippedRecordLeavesItsRowAsItWas(parallelism: Int) async throws {
    let shop = try Shop(folder.file("store"))
    let output = try shop.store.topic("changes", of: Total.self, key: \.key)
    // "c" meets refused records only, "a" one in each epoch and between good ones.
    for amounts in [[2, 3, 4], [5], [6, 7]] as [[Int64]] {
      try await shop.sales.append(contentsOf: amounts.flatMap { [Sale("a", $0), Sale("b", $0 * 2), Sale("c", 1)] })
      let runner = try shop.store.runner(
        for: try job(shop, .skip, output: output), RunOptions(mode: .toEnd, parallelism: parallelism))
      try await shop.store.run(runner)
      #expect(runner.metrics?.named("view totals")?.skipped == amounts.count { $0 % 2 != 0 } + amounts.count)
    }
    let rows = try shop.rows()
    #expect(rows.keys.sorted() == ["a", "b"])
    #expect(rows["a"]?.sum == 12)
    #expect(rows["a"]?.count == 3)
    #expect(rows["b"]?.sum == 54)
    #expect(try output.log.endOffset(0) == 3 + 6)
  }

  @Test func aFailedRecordLeavesTheViewAtTheLastCheckpoint() async throws {
    let shop = try Shop(folder.file("store"), partitions: 1)
    try await shop.sales.append(contentsOf: [Sale("a", 2), Sale("b", 4)])
    try await shop.run(try job(shop, .fail))
    let before = try shop.rows()
    try await shop.sales.append(contentsOf: [Sale("a", 6), Sale("b", 3), Sale("a", 8)])
    let error = await failure(DataflowError.self) { try await shop.run(try job(shop, .fail)) }
    #expect(error?.code == .operatorFailed)
    #expect(error?.subject == "view totals")
    #expect(error?.cause is Refused)
    #expect(try shop.rows() == before)
    #expect(try shop.store.read { try $0.positions(of: "sales") } == [2])
    try await shop.run(try job(shop, .skip))
    #expect(try shop.rows()["a"]?.sum == 16)
    #expect(try shop.rows()["b"]?.sum == 4)
  }

  @Test func aRowFoldedUnderAnotherKeyIsRefused() async throws {
    let shop = try Shop(folder.file("store"))
    let job = try Job("renaming") { flow in
      flow.from(shop.sales).keyed().fold(into: shop.totals, initial: Total.init(key:)) { row, _ in row.key = "other" }
    }
    try await shop.sales.append(Sale("a", 1))
    let error = await failure(DataflowError.self) { try await shop.run(job) }
    #expect(cause(ViewError.self, of: error)?.code == .keyColumn)
    #expect(cause(ViewError.self, of: error)?.column == "key")
    #expect(try shop.rows().isEmpty)
  }

  /// A negative amount deletes the row; the next makes it anew: within an epoch and across epochs and restarts.
  @Test(arguments: [1, 2]) func aFoldDeletesRowsAndMakesThemAnew(parallelism: Int) async throws {
    let seed = UInt64.random(in: 0..<1000)
    var dice = Dice(state: seed)
    let sales = (0..<3000).map {
      Sale("key-\(Int.random(in: 0..<40, using: &dice))", .random(in: -2...5, using: &dice), at: $0)
    }
    var model: [String: Total] = [:]
    for sale in sales {
      if sale.amount < 0 { model[sale.key] = nil } else { model[sale.key, default: Total(key: sale.key)].add(sale) }
    }
    for part in 0..<3 {
      let shop = try Shop(folder.file("store"))
      try await shop.sales.append(contentsOf: Array(sales[(part * 1000)..<(part * 1000 + 1000)]))
      let job = try Job("totals") { flow in
        flow.from(shop.sales).keyed().fold(into: shop.totals, keyedBy: String.self) { key, row, sale in
          if sale.amount < 0 {
            row = nil
          } else {
            row = row ?? Total(key: key)
            row?.add(sale)
          }
        }
      }
      try await shop.store.run(
        job, RunOptions(mode: .toEnd, parallelism: parallelism, checkpoints: .everyRecords(100), batchSize: 50))
      if part == 2 { #expect(try shop.rows() == model, "seed \(seed)") }
      shop.store.close()
    }
  }
}
