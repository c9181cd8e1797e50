import LMDB
import Synchronization
import Testing

/// Read transactions: their age, their end, their slots.
@Suite struct ReaderTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A clock that the test moves.
  private final class Clock: Sendable {
    private let milliseconds = Atomic<Int>(1000)
    var now: Int { milliseconds.load(ordering: .relaxed) }
    func advance(_ amount: Int) { milliseconds.add(amount, ordering: .relaxed) }
  }

  private func store(_ clock: Clock, limit: Duration?) throws -> TestDatabase {
    try TestDatabase(folder.file("a.mdb"), .init(maximumReaderAge: limit, clock: { clock.now }))
  }

  @Test func theGaugeNamesTheOldestReader() throws {
    let clock = Clock()
    let store = try store(clock, limit: nil)
    #expect(store.environment.oldestReaderAge == nil)
    let first = try store.environment.beginRead()
    clock.advance(3_600_000)
    do {
      let second = try store.environment.beginRead()
      clock.advance(5)
      #expect(second.age == 5)
      #expect(store.environment.oldestReaderAge == 3_600_005)
    }
    #expect(first.age == 3_600_005)
    let readers = store.environment.openReaders()
    #expect(readers.first?.transactionID == first.id)
    #expect(store.environment.expireReaders() == 0, "without a limit nothing expires")
    #expect(try store.size("key", in: first) == nil)
  }

  @Test func anIdleSlotHasNoAge() throws {
    let clock = Clock()
    let store = try store(clock, limit: .seconds(1))
    do { _ = try store.environment.beginRead() }
    clock.advance(5000)
    #expect(store.environment.oldestReaderAge == nil)
    #expect(store.environment.expireReaders() == 0)
    let reused = try store.environment.beginRead()
    #expect(reused.age == 0)
    #expect(store.environment.oldestReaderAge == 0)
  }

  @Test func aReaderPastItsAgeEndsItselfAndUnpinsItsPages() throws {
    let clock = Clock()
    let store = try store(clock, limit: .milliseconds(1500))
    try store.put("key")
    var reader = try store.environment.beginRead()
    let pinned = reader.id
    clock.advance(1499)
    #expect(store.environment.expireReaders() == 0)
    #expect(try store.size("key", in: reader) == 10)
    clock.advance(1)
    let young = try store.environment.beginRead()
    #expect(store.environment.expireReaders() == 1)
    #expect(store.environment.openReaders().contains { $0.transactionID == pinned })
    try store.put("key", size: 20)
    let error = #expect(throws: LMDBError.self) { try store.size("key", in: reader) }
    #expect(error?.code == .readerExpired)
    #expect(error?.isRetriable == true)
    #expect(try store.size("key", in: young) == 10)
    // It stays ended, and a renewal revives it.
    #expect(code { _ = try reader.statistics(store.database) } == .readerExpired)
    #expect(code { try reader.withCursor(store.database) { _ in } } == .readerExpired)
    try reader.renew()
    #expect(try store.size("key", in: reader) == 20)
    #expect(reader.age == 0)
  }

  @Test func aLongScanExpiresInItsMiddle() throws {
    let clock = Clock()
    let store = try store(clock, limit: .seconds(1))
    for number in 0..<10 { try store.put("key \(number)") }
    let environment = store.environment
    var seen = 0
    #expect(
      code {
        try environment.read { transaction in
          try transaction.withCursor(store.database) { cursor in
            while try cursor.next() {
              seen += 1
              if seen == 3 {
                clock.advance(1000)
                environment.expireReaders()
              }
            }
          }
        }
      } == .readerExpired)
    #expect(seen == 3)
    #expect(environment.oldestReaderAge == nil)
  }

  @Test func moreReadersThanSlotsIsATypedErrorUntilOneEnds() throws {
    let store = try TestDatabase(folder.file("a.mdb"), .init(maxReaders: 3))
    let first = try store.environment.beginRead()
    let second = try store.environment.beginRead()
    do {
      let third = try store.environment.beginRead()
      let error = #expect(throws: LMDBError.self) { _ = try store.environment.beginRead() }
      #expect(error?.code == .readersFull)
      #expect(error?.isRetriable == true)
      #expect(third.id == first.id)
    }
    try store.put("key")
    #expect(try store.size("key") == 10)
    #expect(second.id < store.environment.lastTransactionID)
  }

  @Test func manyThreadsReadWhileOneWrites() throws {
    let store = try TestDatabase(folder.file("a.mdb"))
    try store.put("a", size: 0)
    try store.put("b", size: 0)
    let failures = Mutex<[String]>([])
    let done = Semaphore()
    let isOver = Atomic<Bool>(false)
    for _ in 0..<4 {
      OSThread.start(name: "reader") {
        do {
          while !isOver.load(ordering: .relaxed) {
            let (a, b) = try store.environment.read { (try store.size("a", in: $0), try store.size("b", in: $0)) }
            if a != b { failures.withLock { $0.append("\(String(describing: a)) and \(String(describing: b))") } }
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
        done.signal()
      }
    }
    for size in 1...200 {
      try store.environment.write { transaction in
        try store.put("a", size: size, in: transaction)
        try store.put("b", size: size, in: transaction)
      }
    }
    isOver.store(true, ordering: .relaxed)
    for _ in 0..<4 { done.wait() }
    #expect(failures.withLock { $0 } == [])
    #expect(store.environment.oldestReaderAge == nil)
  }
}
