import LMDB
import Millrace
import Synchronization
import Testing

/// What a store does by itself while it is open.
@Suite struct UpkeepTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A clock that is moved by hand.
  final class Clock: Sendable {
    private let microseconds = Mutex<Int64>(1_000_000_000)
    var now: Timestamp { microseconds.withLock { Timestamp(microseconds: $0) } }
    func advance(seconds: Int64) { microseconds.withLock { $0 += seconds * 1_000_000 } }
  }

  @Test(.timeLimit(.minutes(1))) func oldRecordsOfAQuietTopicGoByThemselves() async throws {
    let clock = Clock()
    let store = try Store.open(
      at: folder.file("store"),
      Store.Options(maintenanceInterval: .milliseconds(1), log: LogOptions(clock: { clock.now }), clock: { clock.now }))
    let sales = try store.topic(
      "sales", of: Sale.self, key: \.key, options: TopicOptions(retentionAge: .seconds(60)))
    try await sales.append(Sale("a", 1))
    clock.advance(seconds: 61)
    while try sales.log.startOffset(0) == 0 { await Task.yield() }
    #expect(store.backgroundFailures.isEmpty)
    store.close()
  }

  @Test(.timeLimit(.minutes(1))) func aSnapshotPastItsAgeEndsWithAnErrorAndJobsDoNotMind() async throws {
    let shop = try Shop(
      folder.file("store"),
      Store.Options(maximumSnapshotAge: .milliseconds(30), maintenanceInterval: .milliseconds(1)))
    let sales = (0..<20_000).map { Sale("key-\($0 * 7919 % 5000)", Int64($0)) }
    try await shop.sales.append(contentsOf: sales)
    // So little memory that rows are read back all the time, through snapshots that end under way.
    try await shop.store.run(
      try shop.job(), RunOptions(mode: .toEnd, checkpoints: .everyRecords(2000), batchSize: 500, stateMemory: 200_000))
    let error = await failure(LMDBError.self) {
      try shop.store.read { snapshot in
        while true { _ = try snapshot[shop.totals].get("key-1") }
      }
    }
    #expect(error?.code == .readerExpired)
    shop.store.close()
    let again = try Shop(folder.file("store"))
    #expect(try again.rows() == Total.model(sales))
  }

  @Test func withoutAnIntervalOnlyTheCallDoesIt() async throws {
    let clock = Clock()
    let store = try Store.open(
      at: folder.file("store"),
      Store.Options(maintenanceInterval: nil, log: LogOptions(clock: { clock.now }), clock: { clock.now }))
    let sales = try store.topic(
      "sales", of: Sale.self, key: \.key, options: TopicOptions(retentionAge: .seconds(60)))
    try await sales.append(Sale("a", 1))
    clock.advance(seconds: 61)
    try await store.maintain()
    #expect(try sales.log.startOffset(0) == 1)
  }

  @Test func aSnapshotKnowsItsCheckpointItsPositionsAndItsAge() async throws {
    let clock = Clock()
    let shop = try Shop(folder.file("store"), Store.Options(clock: { clock.now }), partitions: 1)
    try shop.store.read { (snapshot: Snapshot) throws in
      #expect(try snapshot.age == nil)
      #expect(try snapshot.checkpoint == 0)
      #expect(try snapshot.positions(of: "sales") == [])
    }
    struct JobClock: RuntimeClock {
      let clock: Clock
      var now: Int64 { clock.now.microseconds }
      var time: Timestamp { clock.now }
    }
    try await shop.sales.append(contentsOf: [Sale("a", 1), Sale("b", 1)])
    try await shop.store.run(try shop.job(), RunOptions(mode: .toEnd, clock: JobClock(clock: clock)))
    clock.advance(seconds: 7)
    try shop.store.read { (snapshot: Snapshot) throws in
      #expect(try snapshot.age == 7_000_000)
      #expect(try snapshot.checkpoint > 0)
      #expect(try snapshot.positions(of: "sales") == [2])
      #expect(try snapshot.jobs.map(\.name) == ["totals"])
    }
  }
}
