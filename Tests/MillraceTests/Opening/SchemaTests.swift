import LMDB
import Synchronization
import Testing

@testable import Millrace

/// Types that changed since something was stored: read if they can be, refused at open with the field named if not.
@Suite struct SchemaTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// `Sale` as a later program has it: reordered, widened, one field gone, two added.
  struct NewSale: Record, Equatable {
    var at: Timestamp
    var shop: String?
    var key: String
    var amount: Int64
    var discount: Double?
  }
  struct OldSale: Record {
    var key: String
    var amount: Int32
    var at: Timestamp
    var note: String
  }
  struct WrongSale: Record {
    var key: String
    var amount: String
    var at: Timestamp
  }
  struct WrongTotal: Record {
    var key: String
    var sum: String
    var count: Int64
    var last: Timestamp
  }
  struct Sum: Record { var sum: Int64 }
  struct WideSum: Record {
    var sum: Int64
    var seen: Int64?
  }
  struct WrongSum: Record { var sum: String }

  @Test func olderEventsAreReadAsTheTypeIsNow() async throws {
    let store = try Store.open(at: folder.file("store"))
    let old = try store.topic("sales", of: OldSale.self, key: \.key, timestamp: \.at)
    try await old.append(OldSale(key: "a", amount: -7, at: Timestamp(microseconds: 3), note: "gone"))
    store.close()
    for round in 0..<2 {
      let again = try Store.open(at: folder.file("store"))
      let new = try again.topic("sales", of: NewSale.self, key: \.key, timestamp: \.at)
      let event = NewSale(at: Timestamp(microseconds: 4), shop: "s", key: "a", amount: 1 << 40, discount: 0.5)
      if round == 0 { try await new.append(event) }
      var found: [NewSale] = []
      for try await entry in try new.events() { found.append(entry.event) }
      #expect(found == [NewSale(at: Timestamp(microseconds: 3), key: "a", amount: -7), event])
      // And in a job, both in one batch.
      let sums = try again.view("sums", of: Total.self, key: \.key)
      let job = try Job("sums") { flow in
        flow.from(new).keyed().fold(into: sums, initial: Total.init(key:)) { row, sale in
          row.add(Sale(sale.key, sale.amount))
        }
      }
      try await again.run(job, RunOptions(mode: .toEnd))
      #expect(try again.read { try $0[sums].get("a") }?.sum == (1 << 40) - 7)
      again.close()
    }
  }

  @Test func anEventTypeThatCannotReadWhatIsThereIsRefusedAndNothingIsWritten() async throws {
    let shop = try Shop(folder.file("store"))
    try await shop.sales.append(Sale("a", 1))
    let before = shop.store.environment.lastTransactionID
    let error = await failure(RecordsError.self) {
      try shop.store.topic("sales", of: WrongSale.self, key: \.key, partitions: 4)
    }
    #expect(error?.code == .incompatibleSchema)
    #expect(error?.description.contains("amount") == true)
    let partitions = await failure(EventLogError.self) {
      try shop.store.topic("sales", of: Sale.self, key: \.key, partitions: 5)
    }
    #expect(partitions?.code == .topicExists)
    #expect(shop.store.environment.lastTransactionID == before)
    try await shop.run(try shop.job())
    #expect(try shop.rows()["a"]?.sum == 1)
  }

  @Test func aRowTypeThatDoesNotFitIsRefusedAndNothingIsWritten() async throws {
    let shop = try Shop(folder.file("store"))
    try await shop.sales.append(Sale("a", 1))
    try await shop.run(try shop.job())
    let before = shop.store.environment.lastTransactionID
    let error = await failure(ViewError.self) { try shop.store.view("totals", of: WrongTotal.self, key: \.key) }
    #expect(error?.code == .schemaMismatch)
    #expect(error?.column == "sum")
    let narrow = await failure(ViewError.self) {
      try shop.store.view("totals", of: OwnershipTests.Score.self, key: \.key)
    }
    #expect(narrow?.code == .schemaMismatch)
    #expect(shop.store.environment.lastTransactionID == before)
    #expect(try shop.rows()["a"]?.sum == 1)
  }

  private func sums<Value: Record>(
    _ shop: Shop, _ name: String, _ initial: Value, _ add: @escaping @Sendable (inout Value, Sale) -> Void
  ) throws -> Job {
    try Job("sums") { flow in
      flow.from(shop.sales).keyed().fold(name, initial: initial) { value, sale in add(&value, sale) }
        .forEach("end") { _ in }
    }
  }

  @Test func stateThatCannotBeReadAsTheTypeIsNowIsRefused() async throws {
    let shop = try Shop(folder.file("store"))
    try await shop.sales.append(Sale("a", 1))
    try await shop.run(try sums(shop, "sum", Sum(sum: 0)) { $0.sum += $1.amount })
    try await shop.sales.append(Sale("a", 2))
    let error = await failure(DataflowError.self) {
      try await shop.run(try sums(shop, "sum", WrongSum(sum: "")) { _, _ in })
    }
    #expect(cause(RecordsError.self, of: error)?.code == .incompatibleSchema)
    #expect(error?.description.contains("sum") == true)
    #expect(try shop.store.jobs()[0].sources["sales"]?.map(\.position).reduce(0, +) == 1)
    // One that can be read goes on with what is there.
    let seen = Seen()
    try await shop.run(
      try sums(shop, "sum", WideSum(sum: 0)) { value, sale in
        value.sum += sale.amount
        value.seen = (value.seen ?? 0) + 1
        seen.note(value.sum)
      })
    #expect(seen.last == 3)
  }

  @Test func stateThatNobodyClaimsIsRefusedUnlessDroppedOrRenamed() async throws {
    let shop = try Shop(folder.file("store"))
    let seen = Seen()
    let add: @Sendable (inout Sum, Sale) -> Void = { value, sale in
      value.sum += sale.amount
      seen.note(value.sum)
    }
    func run(_ name: String, _ amount: Int64, dropping: Set<String> = [], renaming: [String: String] = [:]) async throws
    {
      try await shop.sales.append(Sale("a", amount))
      try await shop.store.run(
        try sums(shop, name, Sum(sum: 0), add), RunOptions(mode: .toEnd, dropping: dropping, renaming: renaming))
    }
    try await run("first", 1)
    let error = await failure(DataflowError.self) { try await run("second", 2) }
    #expect(error?.code == .unmappedState)
    #expect(error?.subject == "first")
    #expect(error?.description.contains("renaming") == true)
    #expect(seen.last == 1)
    try await run("second", 3, renaming: ["first": "second"])
    #expect(seen.last == 6)
    try await run("third", 4, dropping: ["second"])
    #expect(seen.last == 4)
    let other = try Job("sums") { flow in flow.from(shop.sales).forEach("end") { _ in } }
    #expect(await failure(DataflowError.self) { try await shop.run(other) }?.code == .unmappedState)
  }
}

/// The last number that a job's closure saw.
final class Seen: Sendable {
  private let value = Mutex<Int64?>(nil)
  func note(_ number: Int64) { value.withLock { $0 = number } }
  var last: Int64? { value.withLock { $0 } }
}
