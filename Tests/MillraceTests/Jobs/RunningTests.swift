import Millrace
import Synchronization
import Testing

/// Jobs of a store: side by side, stopped and continued, failing and healing.
@Suite struct RunningTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func twoJobsOfOneStoreRunAtOnce() async throws {
    let shop = try Shop(folder.file("store"))
    let doubles = try shop.store.view("doubles", of: Total.self, key: \.key, indexes: [.on(\.count)])
    let other = try Job("doubles") { flow in
      flow.from(shop.sales).keyed().fold(into: doubles, initial: Total.init(key:)) { row, sale in
        row.add(Sale(sale.key, sale.amount * 2, at: sale.at.microseconds))
      }
    }
    let runners = [try shop.store.runner(for: try shop.job()), try shop.store.runner(for: other)]
    let sales = (0..<4000).map { Sale("key-\($0 % 101)", Int64($0 % 17), at: Int64($0)) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for runner in runners { group.addTask { try await shop.store.run(runner) } }
      var last: [LogPosition] = []
      for part in 0..<4 {
        last += try await shop.sales.append(contentsOf: Array(sales[(part * 1000)..<(part * 1000 + 1000)]))
      }
      for position in last.suffix(200) { try await shop.store.waitFor(position, in: shop.sales, timeout: .seconds(60)) }
      // Both views are of one moment: nothing is waited for any more.
      for runner in runners { runner.stop() }
      try await group.waitForAll()
    }
    #expect(try shop.rows() == Total.model(sales))
    let twice = try shop.store.rows(doubles)
    #expect(twice.mapValues(\.sum) == Total.model(sales).mapValues { $0.sum * 2 })
    let jobs = try shop.store.jobs()
    #expect(jobs.map(\.name).sorted() == ["doubles", "totals"])
    #expect(jobs.allSatisfy { $0.status == .stopped })
  }

  @Test func cancellingIsAStopWithALastCheckpointAndTheJobGoesOn() async throws {
    let shop = try Shop(folder.file("store"))
    var sales: [Sale] = []
    for round in 0..<3 {
      let task = Task { try await shop.store.run(try shop.job(), RunOptions(checkpoints: .atEnd)) }
      let part = (0..<500).map { Sale("key-\($0 % 7)", Int64($0 + round)) }
      sales += part
      try await shop.sales.append(contentsOf: part)
      task.cancel()
      #expect(try await task.value == .stopped)
    }
    try await shop.run(try shop.job())
    #expect(try shop.rows() == Total.model(sales))
  }

  @Test func aFailingOperatorThatHealsIsRestartedAndCountsEverythingOnce() async throws {
    let shop = try Shop(folder.file("store"))
    let output = try shop.store.topic("copy", of: Sale.self, key: \.key, timestamp: \.at)
    let trouble = Atomic<Int>(3)
    let job = try Job("totals") { flow in
      let good = flow.from(shop.sales).map { sale in
        if sale.amount == 700, trouble.load(ordering: .relaxed) > 0 {
          trouble.subtract(1, ordering: .relaxed)
          throw ErrorsInFoldsTests.Refused()
        }
        return sale
      }
      good.append(to: output)
      good.keyed(by: \.key).fold(into: shop.totals, initial: Total.init(key:)) { row, sale in row.add(sale) }
    }
    let sales = (0..<1000).map { Sale("key-\($0 % 7)", Int64($0), at: Int64($0)) }
    try await shop.sales.append(contentsOf: sales)
    let runner = try shop.store.runner(
      for: job,
      RunOptions(
        mode: .toEnd, checkpoints: .everyRecords(50), restart: .fixedDelay(.milliseconds(1), attempts: 5),
        batchSize: 20))
    try await shop.store.run(runner)
    #expect(runner.metrics?.restarts == 3)
    #expect(try shop.rows() == Total.model(sales))
    #expect(try output.log.endOffset(0) == 1000)
    // With fewer attempts it fails, and says why.
    trouble.store(2, ordering: .relaxed)
    try shop.store.reset(job: "totals")
    let error = await failure(DataflowError.self) {
      try await shop.store.run(
        job, RunOptions(mode: .toEnd, restart: .fixedDelay(.milliseconds(1), attempts: 1)))
    }
    #expect(error?.code == .operatorFailed)
  }

  @Test func closingUnderARunningJobIsATypedErrorAndTheStoreStaysWhole() async throws {
    let sales = (0..<300).map { Sale("key-\($0 % 7)", Int64($0)) }
    do {
      let shop = try Shop(folder.file("store"))
      let position = try await shop.sales.append(contentsOf: sales).last
      let task = Task { try await shop.store.run(try shop.job(), RunOptions(checkpoints: .every(.milliseconds(1)))) }
      try await shop.store.waitFor(try #require(position), in: shop.sales)
      shop.store.close()
      task.cancel()
      _ = try? await task.value
    }
    let shop = try Shop(folder.file("store"))
    try await shop.run(try shop.job())
    #expect(try shop.rows() == Total.model(sales))
  }

  @Test func waitingEndsWithAnErrorThatNamesTheJobThatIsBehind() async throws {
    let shop = try Shop(folder.file("store"))
    let first = try await shop.sales.append(Sale("a", 1))
    let nobody = await failure(StoreError.self) {
      try await shop.store.waitFor(first, in: shop.sales, timeout: .milliseconds(5))
    }
    #expect(nobody?.code == .timedOut)
    #expect(nobody?.isRetriable == true)
    #expect(nobody?.description.contains("no job reads") == true)
    try await shop.run(try shop.job())
    try await shop.store.waitFor(first, in: shop.sales)
    let second = try await shop.sales.append(Sale("a", 1))
    let behind = await failure(StoreError.self) {
      try await shop.store.waitFor(second, in: shop.sales, timeout: .milliseconds(5))
    }
    #expect(behind?.description.contains("totals") == true)
    let waiting = Task { try await shop.store.waitFor(second, in: shop.sales, timeout: .seconds(600)) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }
}
