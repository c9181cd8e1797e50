import Bytes
import Testing

@testable import EventLog

@Suite("Consumer groups") struct SubscriptionTests {
  @Test func goOnAtWhatIsCommitted() async throws {
    let fixture = try GroupFixture()
    try fixture.write(10)
    let first = try fixture.member()
    for try await record in first.records() {
      if record.number == 3 { try await first.commit(record) }
    }
    #expect(first.committed(0) == 4)
    #expect(try first.lag() == [6])
    await first.close()
    let second = try fixture.member()
    #expect(try await second.numbers() == Array(4..<10))
    await second.close()
    // Nothing more was committed: the same again, also after opening anew.
    fixture.log.close()
    let log = try EventLog.open(at: fixture.directory.path)
    let third = try log.topic("events").subscribe(group: "group", SubscriptionOptions(tailing: false))
    #expect(try await third.numbers() == Array(4..<10))
    try await third.commitAll()
    #expect(third.committed(0) == 10)
  }

  @Test func commitsNeverMoveBack() async throws {
    let fixture = try GroupFixture()
    try fixture.write(10)
    let member = try fixture.member()
    var records: [GroupRecord] = []
    for try await batch in member.batches(of: 3) {
      #expect((1...3).contains(batch.count))
      records += batch
    }
    try await member.commit(records[7])
    try await member.commit(records[2])
    #expect(member.committed(0) == 8)
    try await member.commit(Array(records[0..<9]))
    #expect(member.committed(0) == 9)
    try await member.commit(partition: 0, offset: 10)
    #expect(member.committed(0) == 10)
    let error = await failure { try await member.commit(partition: 0, offset: 11) }
    #expect(error?.code == .offsetOutOfRange)
    #expect(error?.validRange == 0..<10)
  }

  @Test func iteratingAgainGoesOnBehindTheLastRecordGiven() async throws {
    let fixture = try GroupFixture()
    try fixture.write(6)
    let member = try fixture.member()
    for try await record in member.records() where record.number == 2 { break }
    #expect(try await member.numbers() == [3, 4, 5])
  }

  @Test func beginWhereTheyAreTold() async throws {
    let fixture = try GroupFixture()
    try fixture.write(10)
    #expect(try await fixture.member("a").numbers() == Array(0..<10))
    #expect(try await fixture.member("b") { $0.start = .latest }.numbers() == [])
    #expect(try await fixture.member("c") { $0.start = .time(Timestamp(microseconds: 7)) }.numbers() == [7, 8, 9])
    #expect(try await fixture.member("d") { $0.start = .offset(4) }.numbers() == Array(4..<10))
    // The beginning is decided once: what came since is not passed over.
    try fixture.write(2, from: 10)
    #expect(try await fixture.member("b") { $0.start = .latest }.numbers() == [10, 11])
  }

  @Test func anOffsetThatTheLogDoesNotHaveIsAnErrorOrAJump() async throws {
    let fixture = try GroupFixture()
    try fixture.write(10)
    let error = await failure { _ = try await fixture.member("a") { $0.start = .offset(11) }.numbers() }
    #expect(error?.code == .offsetOutOfRange)
    #expect(error?.validRange == 0..<10)
    let jumping = try fixture.member("b") {
      $0.start = .offset(20)
      $0.outOfRange = .earliest
    }
    #expect(try await jumping.numbers() == Array(0..<10))
    #expect(jumping.jumps == [OffsetJump(topic: "events", partition: 0, from: 20, to: 0, validRange: 0..<10)])
    #expect(jumping.committed(0) == 0)
    await jumping.close()
    // It is committed: it does not happen again.
    let again = try fixture.member("b") { $0.outOfRange = .latest }
    #expect(try await again.numbers() == Array(0..<10))
    #expect(again.jumps.isEmpty)
  }

  @Test func retentionThatOvertakesAGroupIsAnErrorOrAJump() async throws {
    let fixture = try GroupFixture()
    try fixture.write(5)
    try fixture.topic.sealBlocking()
    try fixture.write(5, from: 5)
    for group in ["fail", "earliest", "latest"] {
      let member = try fixture.member(group)
      for try await record in member.records() where record.number == 2 {
        try await member.commit(record)
        break
      }
      await member.close()
    }
    try fixture.log.setOptions(of: "events") { $0.retentionBytes = 0 }
    try fixture.log.maintainBlocking()
    #expect(try fixture.topic.startOffset(0) == 5)
    let error = await failure { _ = try await fixture.member("fail").numbers() }
    #expect(error?.code == .offsetOutOfRange)
    #expect(error?.validRange == 5..<10)
    #expect(try await fixture.member("earliest") { $0.outOfRange = .earliest }.numbers() == Array(5..<10))
    let latest = try fixture.member("latest") { $0.outOfRange = .latest }
    #expect(try await latest.numbers() == [])
    #expect(latest.jumps.map(\.to) == [10])
    #expect(try fixture.log.group("latest").lag == 0)
    #expect(try fixture.log.group("fail").lag == 5)
  }

  @Test func aTopicOfTheSameNameIsAnotherTopic() async throws {
    let fixture = try GroupFixture()
    try fixture.write(10)
    let old = try fixture.member()
    _ = try await old.numbers()
    try await old.commitAll()
    await old.close()
    try fixture.log.deleteTopic("events")
    #expect(try fixture.log.group("group").topics.isEmpty)
    let topic = try fixture.log.topic("events", TopicOptions())
    try topic.put("7")
    let new = try topic.subscribe(group: "group", SubscriptionOptions(tailing: false))
    #expect(try await new.numbers() == [7])
  }

  @Test func twoHandlesDoNotShareAGroup() async throws {
    let fixture = try GroupFixture()
    try fixture.write(3)
    let reading = try EventLog.open(at: fixture.directory.path, LogOptions(access: .readOnly))
    let member = try fixture.member()
    let error = failure { _ = try reading.topic("events").subscribe(group: "group") }
    #expect(error?.code == .groupInUse)
    #expect(try reading.group("group").holder.map { $0 > 0 } == true)
    await member.close()
    #expect(try reading.group("group").holder == nil)
    // Offsets are the group's own, whoever writes the log.
    let other = try reading.topic("events").subscribe(group: "group", SubscriptionOptions(tailing: false))
    #expect(try await other.numbers() == [0, 1, 2])
    try await other.commitAll()
    #expect(try fixture.log.group("group").lag == 0)
  }

  @Test func aMemberThatNobodyHoldsHasLeft() async throws {
    let fixture = try GroupFixture()
    try fixture.write(3)
    do {
      let member = try fixture.member()
      #expect(try await member.numbers() == [0, 1, 2])
    }
    #expect(try fixture.log.group("group").holder == nil)
    try fixture.log.deleteGroup("group")
    #expect(try fixture.log.groups().isEmpty)
  }

  @Test func oneConsumerAtATime() async throws {
    let fixture = try GroupFixture()
    try fixture.write(3)
    let member = try fixture.member()
    var first = member.records().makeAsyncIterator()
    #expect(try await first.next()?.number == 0)
    var second = member.records().makeAsyncIterator()
    do {
      _ = try await second.next()
      Issue.record("two consumers")
    } catch {
      #expect((error as? EventLogError)?.code == .subscriptionInUse)
    }
    #expect(try await first.next()?.number == 1)
  }

  @Test func closingEndsAnIterationThatWaits() async throws {
    let fixture = try GroupFixture()
    try fixture.write(1)
    let member = try fixture.member { $0.tailing = true }
    async let numbers = member.numbers()
    try fixture.write(1, from: 1)
    while member.shared.given(to: member.id).first?.offset != 2 { await Task.yield() }
    await member.close()
    #expect(try await numbers == [0, 1])
    let error = await failure { _ = try await member.numbers() }
    #expect(error?.code == .closed)
  }

  @Test func closingTheLogEndsItWithAnError() async throws {
    let fixture = try GroupFixture()
    let member = try fixture.member { $0.tailing = true }
    async let result = failure { _ = try await member.numbers() }
    while member.committed(0) == nil { await Task.yield() }
    fixture.log.close()
    #expect(await result?.code == .closed)
    #expect(await failure { try await member.commit(partition: 0, offset: 0) }?.code == .closed)
  }

  @Test func namesThatCannotBeFilesAreRefused() throws {
    let fixture = try GroupFixture()
    for name in ["", ".hidden", "a/b", "é", String(repeating: "x", count: 201), "00000000000000000001"] {
      #expect(failure { _ = try fixture.topic.subscribe(group: name) }?.code == .invalidGroup, "\(name)")
    }
    _ = try fixture.topic.subscribe(group: String(repeating: "x", count: 200))
  }

  @Test func aTopicMayBeCalledGroups() async throws {
    let fixture = try GroupFixture()
    let topic = try fixture.log.topic("groups", TopicOptions())
    try topic.put("1")
    do {
      let member = try topic.subscribe(group: "1", SubscriptionOptions(tailing: false))
      #expect(try await member.numbers() == [1])
      try await member.commitAll()
    }
    #expect(try fixture.log.groups().map(\.name) == ["1"])
    fixture.log.close()
    let log = try EventLog.open(at: fixture.directory.path)
    #expect(try log.group("1").lag == 0)
    try log.deleteTopic("groups")
    #expect(try log.groups().map(\.name) == ["1"])
  }
}
