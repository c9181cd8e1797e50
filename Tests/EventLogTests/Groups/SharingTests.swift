import Bytes
import Synchronization
import Testing

@testable import EventLog

@Suite("Members of a group") struct SharingTests {
  typealias Journal = ForEachTests.Journal
  typealias Gate = ForEachTests.Gate

  @Test func shareThePartitionsEvenly() async throws {
    let fixture = try GroupFixture(partitions: 8)
    let first = try fixture.member()
    #expect(first.partitions == Array(0..<8))
    let second = try fixture.member()
    let third = try fixture.member()
    let counts = [first, second, third].map(\.partitions.count)
    #expect(counts.sorted() == [2, 3, 3])
    #expect(Set(first.partitions + second.partitions + third.partitions) == Set(0..<8))
    await first.close()
    #expect(second.partitions.count == 4 && third.partitions.count == 4)
    // Another group, or another topic, is another matter.
    #expect(try fixture.member("other").partitions == Array(0..<8))
    let topic = try fixture.log.topic("more", TopicOptions(partitions: 2))
    #expect(try topic.subscribe(group: "group").partitions == [0, 1])
  }

  @Test func aPartitionGoesOverWhenWhatWasGivenIsCommitted() async throws {
    let fixture = try GroupFixture(partitions: 2)
    try fixture.write(40, keys: 40)
    let first = try fixture.member { $0.tailing = true }
    var records = first.records().makeAsyncIterator()
    // From both partitions.
    var given: [Int: GroupRecord] = [:]
    while given.count < 2 {
      let record = try #require(try await records.next())
      given[record.partition] = record
    }
    let second = try fixture.member()
    #expect(second.partitions.isEmpty)
    #expect(first.partitions == [0, 1])
    try await first.commitAll()
    // Committed: it need not ask for the next one.
    #expect(first.partitions.count == 1 && second.partitions.count == 1)
    let moved = try #require(second.partitions.first)
    let next = try #require(given[moved]?.offset) + 1
    #expect(try await second.numbers().count == Int(try fixture.topic.endOffset(moved) - next))
    // And nothing of it is given here any more.
    for _ in 0..<3 { #expect(try await records.next()?.partition == first.partitions.first) }
  }

  @Test func askingForMoreReleasesWhatWasGivenAndLateCommitsAreRefused() async throws {
    let fixture = try GroupFixture(partitions: 2)
    try fixture.write(40, keys: 40)
    let first = try fixture.member { $0.tailing = true }
    let revoked = Mutex<[Int]>([])
    var records = first.records { partitions in revoked.withLock { $0 += partitions } }.makeAsyncIterator()
    var given: [Int: GroupRecord] = [:]
    while given.count < 2 {
      let record = try #require(try await records.next())
      given[record.partition] = record
    }
    let second = try fixture.member()
    _ = try await records.next()
    #expect(revoked.withLock { $0 } == second.partitions)
    let moved = try #require(second.partitions.first)
    let error = await failure { if let late = given[moved] { try await first.commit(late) } }
    #expect(error?.code == .commitFenced)
    #expect(await failure { try await first.commit(partition: moved, offset: 1) }?.code == .commitFenced)
    // What was not committed is given again.
    #expect(try await second.numbers().count == Int(try fixture.topic.endOffset(moved)))
  }

  @Test func whatIsCommittedWhileAPartitionIsAskedBackCounts() async throws {
    let fixture = try GroupFixture(partitions: 2)
    try fixture.write(40, keys: 40)
    let first = try fixture.member { $0.tailing = true }
    var records = first.records { [first] _ in try await first.commitAll() }.makeAsyncIterator()
    var given: Set<Int> = []
    while given.count < 2 { given.insert(try #require(try await records.next()).partition) }
    let second = try fixture.member()
    _ = try await records.next()
    let moved = try #require(second.partitions.first)
    let committed = try #require(second.committed(moved))
    #expect(committed > 0)
    #expect(try await second.numbers().count == Int(try fixture.topic.endOffset(moved) - committed))
  }

  @Test func aPartitionThatIsNotReleasedInTimeIsTakenAway() async throws {
    let fixture = try GroupFixture(partitions: 2)
    try fixture.write(40, keys: 40)
    let time = Mutex(Duration.zero)
    let clock = GroupClock(now: { time.withLock { $0 } }, sleep: { _ in await Task.yield() })
    let first = try fixture.member {
      $0.tailing = true
      $0.clock = clock
      $0.revocationTimeout = .seconds(10)
    }
    let gate = Gate()
    let journal = Journal()
    async let counts = first.forEach(maxConcurrent: 40) { record in
      journal.begin(record)
      await gate.pass()
    }
    while gate.waiting < 40 { await Task.yield() }
    let second = try fixture.member { $0.clock = clock }
    async let numbers = second.numbers()
    for _ in 0..<100 { await Task.yield() }
    #expect(second.partitions.isEmpty)
    time.withLock { $0 = .seconds(10) }
    // What was running is not finished: it is given again.
    #expect(try await numbers.count > 0)
    let moved = try #require(second.partitions.first)
    #expect(second.partitions.count == 1)
    try await second.commitAll()
    gate.open()
    await first.close()
    _ = try await counts
    let partitions = try #require(try fixture.log.group("group").topics.first?.partitions)
    #expect(partitions.map(\.lag) == [0, 0])
    #expect(partitions[moved].finished.isEmpty)
  }

  @Test func comeAndGoAndNothingIsLostOrOutOfOrder() async throws {
    var (random, seed) = SeededGenerator.fresh("Members come and go")
    let fixture = try GroupFixture(partitions: 6)
    let journal = Journal()
    let total = 3000
    var options = DeliveryOptions()
    options.maximumRecordsAhead = 50
    options.commitRecords = 20
    var running: [(Subscription, Task<DeliveryCounts, any Error>)] = []
    var written = 0
    while written < total {
      if running.isEmpty || (running.count < 4 && Bool.random(using: &random)) {
        let member = try fixture.member { $0.tailing = true }
        let options = options
        running.append(
          (
            member,
            Task {
              try await member.forEach(maxConcurrent: 8, options) { record in
                journal.begin(record)
                await Task.yield()
                journal.finish(record)
              }
            }
          ))
      } else if running.count > 1, Bool.random(using: &random) {
        let (member, task) = running.remove(at: Int.random(in: running.indices, using: &random))
        await member.close()
        _ = try await task.value
      }
      try fixture.write(100, from: written, keys: 25)
      written += 100
      for _ in 0..<Int.random(in: 0..<200, using: &random) { await Task.yield() }
    }
    while journal.state.withLock({ $0.finished.count }) < total { await Task.yield() }
    for (member, task) in running {
      await member.close()
      _ = try await task.value
    }
    // Every partition changed hands in peace: once each, in the order of the keys.
    for key in 0..<25 {
      let offsets = journal.offsets(of: "key \(key)")
      #expect(offsets == offsets.sorted() && offsets.count == total / 25, "seed \(seed)")
    }
    #expect(try fixture.log.group("group").lag == 0, "seed \(seed)")
  }
}
