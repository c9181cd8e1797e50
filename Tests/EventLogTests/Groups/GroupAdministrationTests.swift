import Bytes
import Testing

@testable import EventLog

@Suite("Administration of groups") struct GroupAdministrationTests {
  @Test func saysWhatIsCommittedAndWhoHasWhat() async throws {
    let clock = TestClock()
    let fixture = try GroupFixture(partitions: 3, LogOptions(clock: clock.read))
    try fixture.write(30, keys: 30)
    let member = try fixture.member("b") { $0.memberName = "left" }
    for try await record in member.records() where record.offset == 1 { try await member.commit(record) }
    let other = try fixture.member("a")
    let groups = try fixture.log.groups()
    #expect(groups.map(\.name) == ["a", "b"])
    let topic = try #require(groups.last?.topics.first)
    #expect(topic.name == "events")
    #expect(topic.partitions.map(\.committed) == [2, 2, 2])
    #expect(topic.partitions.map(\.member) == ["left", "left", "left"])
    #expect(topic.partitions.allSatisfy { $0.committedAt == clock.now })
    #expect(topic.lag == 24)
    #expect(groups.first?.lag == 30)
    withExtendedLifetime(other) {}
    #expect(failure { _ = try fixture.log.group("c") }?.code == .unknownGroup)
  }

  @Test func resetsAGroupWithoutMembers() async throws {
    let fixture = try GroupFixture()
    try fixture.write(10)
    let member = try fixture.member()
    _ = try await member.numbers()
    try await member.commitAll()
    let busy = failure { try fixture.log.resetGroup("group", topic: "events", to: .earliest) }
    #expect(busy?.code == .groupInUse)
    #expect(failure { try fixture.log.deleteGroup("group") }?.code == .groupInUse)
    await member.close()
    for (position, rest) in [
      (StartPosition.earliest, 0), (.offset(3), 3), (.time(Timestamp(microseconds: 8)), 8), (.latest, 10),
    ] {
      try fixture.log.resetGroup("group", topic: "events", to: position)
      #expect(try await fixture.member().numbers() == Array(rest..<10))
    }
    let beyond = failure { try fixture.log.resetGroup("group", topic: "events", to: .offset(11)) }
    #expect(beyond?.code == .offsetOutOfRange)
    // A group may be made ready before its first member comes.
    try fixture.log.resetGroup("new", topic: "events", to: .offset(9))
    #expect(try await fixture.member("new").numbers() == [9])
    #expect(failure { try fixture.log.resetGroup("new", topic: "none", to: .latest) }?.code == .unknownTopic)
  }

  @Test func aDeletedGroupBeginsAnew() async throws {
    let fixture = try GroupFixture()
    try fixture.write(4)
    for _ in 0..<3 {
      let member = try fixture.member()
      #expect(try await member.numbers() == [0, 1, 2, 3])
      try await member.commitAll()
      await member.close()
      try fixture.log.deleteGroup("group")
    }
    #expect(failure { try fixture.log.deleteGroup("group") }?.code == .unknownGroup)
  }

  @Test func aBackupHoldsTheGroups() async throws {
    let fixture = try GroupFixture()
    try fixture.write(10)
    let member = try fixture.member()
    for try await record in member.records() where record.number == 5 { try await member.commit(record) }
    let target = TemporaryDirectory()
    try fixture.log.backup(to: target.path + "/copy")
    let copy = try EventLog.open(at: target.path + "/copy")
    #expect(try copy.group("group").topics.first?.partitions.first?.committed == 6)
  }

  @Test func aDamagedFileIsNamed() async throws {
    let clock = TestClock()
    let fixture = try GroupFixture(LogOptions(clock: clock.read))
    try fixture.write(10)
    let member = try fixture.member()
    _ = try await member.numbers()
    try await member.commitAll()
    await member.close()
    fixture.log.close()
    let path = GroupFiles.path("group", in: fixture.directory.path)
    let value = CommittedOffset(offset: 10, at: clock.now).encoded()
    let place = try #require(Files.find(value, in: path))
    Files.flipBit(path, at: place + 8)
    let log = try EventLog.open(at: fixture.directory.path)
    let error = failure { _ = try log.topic("events").subscribe(group: "group") }
    #expect(error?.code == .damaged)
    #expect(error?.path == path)
    // It does not stay taken.
    #expect(GroupLock.holder("group", in: fixture.directory.path) == nil)
  }
}
