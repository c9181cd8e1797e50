import LMDB
import Testing

@testable import Millrace

/// What jobs send to topics appears there exactly once, whatever happens in between.
@Suite struct OutboxTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func job(_ shop: Shop, _ output: Topic<Sale>, _ name: String = "copy") throws -> Job {
    try Job(name) { flow in flow.from(shop.sales).append(to: output) }
  }

  private func output(_ shop: Shop, partitions: Int = 2) throws -> Topic<Sale> {
    try shop.store.topic("output", of: Sale.self, key: \.key, timestamp: \.at, partitions: partitions)
  }

  private func amounts(_ topic: Topic<Sale>) async throws -> [Int64] {
    var amounts: [Int64] = []
    for try await entry in try topic.events() { amounts.append(entry.event.amount) }
    return amounts
  }

  /// The rows that lie in the outbox.
  private func rows(_ store: Store) throws -> Int {
    let database = try store.environment.database("outbox")
    return try store.environment.read { transaction in
      try transaction.withCursor(database) { cursor in
        var count = 0
        var isFound = try cursor.first()
        while isFound {
          if OutboxKeys.parseRow(cursor.key) != nil { count += 1 }
          isFound = try cursor.next()
        }
        return count
      }
    }
  }

  @Test func aResetJobSendsAgainAsANewIncarnation() async throws {
    let shop = try Shop(folder.file("store"))
    let output = try output(shop)
    for round in 1...3 {
      try await shop.sales.append(Sale("a", Int64(round)))
      try await shop.run(try job(shop, output))
      #expect(try rows(shop.store) == 0)
    }
    try shop.store.reset(job: "copy")
    try await shop.sales.append(Sale("a", 4))
    try await shop.run(try job(shop, output), parallelism: 2)
    #expect(try await amounts(output) == [1, 2, 3, 1, 2, 3, 4])
    try await shop.sales.append(Sale("a", 5))
    try await shop.run(try job(shop, output))
    #expect(try await amounts(output) == [1, 2, 3, 1, 2, 3, 4, 5])
  }

  /// Rows that an older incarnation had committed come before those of the newer one, in every order of draining.
  @Test func rowsOfTwoIncarnationsOfOneJobAreDrainedInOrder() async throws {
    let shop = try Shop(folder.file("store"))
    let output = try output(shop, partitions: 1)
    let target = OutboxTarget(id: output.log.id, topic: output.name)
    let producer = target.producer(of: "job")
    for round in 0..<20 {
      for epoch in [1, 2] as [UInt32] {
        let number = UInt32(round * 2) + epoch
        let rows = try [1, 2].map { amount in
          let record = try output.encoded(Sale("a", Int64(number) * 10 + Int64(amount)))
          var row = OutboxRow()
          record.value.withUnsafeBytes { value in
            Array("a".utf8).withUnsafeBytes { key in row.append(key: key, value: value, timestamp: record.timestamp) }
          }
          return row.finish()
        }
        let part = OutboxPart(
          outbox: shop.store.outbox, target: target, producer: producer, epoch: number, rows: [0: rows])
        try await shop.store.checkpoints.write { try part.write(in: $0, checkpoint: 1) }
      }
      try await shop.store.outbox.settle(job: "job")
    }
    var expected: [Int64] = []
    for number in 1...40 { expected += [Int64(number * 10 + 1), Int64(number * 10 + 2)] }
    #expect(try await amounts(output) == expected)
    #expect(try rows(shop.store) == 0)
  }

  /// A crash after the append and before the removal of the rows: they are appended once more, and dropped.
  @Test func rowsThatWereAppendedAndNotRemovedAreDroppedWhenRepeated() async throws {
    let shop = try Shop(folder.file("store"))
    let output = try output(shop)
    let runner = try shop.store.runner(for: try job(shop, output), RunOptions(mode: .toEnd))
    for round in 1...5 {
      try await shop.sales.append(Sale("a", Int64(round)))
      // As `Store.run` without its end: rows stay in the file.
      try await runner.run()
    }
    shop.store.close()
    for _ in 0..<3 {
      let again = try Shop(folder.file("store"))
      try await again.store.outbox.settle(job: "none")
      #expect(try await amounts(try self.output(again)) == [1, 2, 3, 4, 5])
      #expect(try rows(again.store) == 0)
      again.store.close()
    }
  }

  @Test func aRemovalThatIsRolledBackIsRepeated() async throws {
    struct Undone: Error {}
    let shop = try Shop(folder.file("store"))
    let output = try output(shop)
    let runner = try shop.store.runner(for: try job(shop, output), RunOptions(mode: .toEnd))
    try await shop.sales.append(Sale("a", 1))
    try await runner.run()
    let outbox = shop.store.outbox
    await #expect(throws: Undone.self) {
      try await shop.store.checkpoints.write { transaction in
        try outbox.removeDrained(in: transaction)
        throw Undone()
      }
    }
    try await outbox.settle(job: "copy")
    #expect(try rows(shop.store) == 0)
    #expect(try await amounts(output) == [1])
  }

  @Test func aTopicThatCannotBeAppendedToFailsItsJobOnlyAndLosesNothing() async throws {
    let shop = try Shop(folder.file("store"), partitions: 1)
    let output = try output(shop, partitions: 1)
    let free = try shop.store.topic("free", of: Sale.self, key: \.key, timestamp: \.at)
    let producer = OutboxTarget(id: output.log.id, topic: output.name).producer(of: "copy")
    try await shop.sales.append(Sale("a", 1))
    try await shop.run(try job(shop, output))
    // Somebody else appended with the job's number: a gap that only a person can explain.
    let foreign = try output.encoded(Sale("b", 99))
    _ = try await output.log.appendIdempotent(
      [foreign], partition: 0, producer: ProducerID(id: producer, epoch: 2), sequence: 0)
    try shop.store.reset(job: "copy")
    try shop.store.reset(job: "copy")
    try await shop.sales.append(Sale("a", 2))
    // Epoch 3 begins at 0 and is in order: only a damaged row can stop it.
    try await shop.run(try job(shop, output))
    #expect(try await amounts(output) == [1, 99, 1, 2])

    // A row that does not match its checksum.
    let outbox = shop.store.outbox
    try await shop.store.checkpoints.write { transaction in
      let key = OutboxKeys.row(OutboxKeys.Lane(producer: producer, epoch: 3, partition: 0), sequence: 2)
      try key.withUnsafeBytes { key in
        try [1, 2, 3, 4, 5, 6, 7, 8, 9].withUnsafeBytes { try transaction.put(outbox.database, key: key, value: $0) }
      }
    }
    let stuck = await failure(StoreError.self) { try await outbox.settle(job: "copy") }
    #expect(stuck?.description.contains("topic output") == true)
    #expect(shop.store.backgroundFailures.count == 1)
    try await outbox.settle(job: "other")
    // Its job does not pile up more behind it; another job goes on.
    try await shop.run(try job(shop, free, "other"))
    #expect(try await amounts(free) == [1, 2])
  }

  @Test func whatIsOnItsWayToADeletedTopicGoesWithIt() async throws {
    let shop = try Shop(folder.file("store"))
    let output = try output(shop)
    try await shop.sales.append(Sale("a", 1))
    let runner = try shop.store.runner(for: try job(shop, output), RunOptions(mode: .toEnd))
    try await runner.run()
    try shop.store.log.deleteTopic("output")
    let second = try self.output(shop)
    try await shop.store.outbox.settle(job: "copy")
    #expect(try await amounts(second).isEmpty)
    // The job sends to the new one as if it had never sent to the old one.
    try await shop.sales.append(Sale("a", 2))
    try await shop.run(try job(shop, second))
    #expect(try await amounts(second) == [2])
    #expect(shop.store.backgroundFailures.isEmpty)
  }

  @Test func twoJobsMaySendToOneTopic() async throws {
    let shop = try Shop(folder.file("store"))
    let output = try output(shop)
    let sales = (0..<500).map { Sale("key-\($0 % 11)", Int64($0)) }
    try await shop.sales.append(contentsOf: sales)
    let jobs = (try job(shop, output, "first"), try job(shop, output, "second"))
    async let first: Void = shop.run(jobs.0, parallelism: 2)
    async let second: Void = shop.run(jobs.1)
    _ = try await (first, second)
    let found = try await amounts(output)
    #expect(found.sorted() == sales.flatMap { [$0.amount, $0.amount] }.sorted())
  }
}
