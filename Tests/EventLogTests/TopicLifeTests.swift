import Bytes
import Glibc
import Testing

@testable import EventLog

@Suite struct TopicLifeTests {
  let directory = TemporaryDirectory()

  @Test func aDeletedTopicIsGoneForEverybodyAndItsNameIsFree() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    try topic.put("a", key: "k")
    try await topic.seal()
    let reader = try topic.reader(from: [0: 0, 1: 0])
    let tail = Task { () -> EventLogError.Code? in
      do {
        for try await _ in topic.records(from: [0: 0, 1: 0], tailing: true) { try log.deleteTopic("t") }
        return nil
      } catch {
        return (error as? EventLogError)?.code
      }
    }
    #expect(await tail.value == .topicDeleted)
    #expect(failure { _ = try reader.read { _ in } }?.code == .topicDeleted)
    #expect(failure { try topic.put("b") }?.code == .topicDeleted)
    #expect(!LogFiles.isDirectory(directory.path + "/t"))
    #expect(failure { _ = try log.topic("t") }?.code == .unknownTopic)
    #expect(failure { try log.deleteTopic("t") }?.code == .unknownTopic)
    let again = try log.topic("t", TopicOptions(partitions: 3))
    #expect(again.id != topic.id)
    #expect(try again.offsets() == [0..<0, 0..<0, 0..<0])
    log.close()
    #expect(try EventLog.open(at: directory.path).topicNames() == ["t"])
  }

  @Test func aTopicDeletedHalfWayIsGoneAfterOpening() throws {
    let log = try EventLog.open(at: directory.path)
    try log.topic("keep", TopicOptions()).put("a")
    try log.topic("t", TopicOptions()).put("a")
    let before = directory.copy()
    try log.deleteTopic("t")
    // The catalogue forgot it; the crash came before its files went.
    Files.write(before.path + "/catalog.mdb", Files.read(directory.path + "/catalog.mdb"))
    let reopened = try EventLog.open(at: before.path)
    #expect(try reopened.topicNames() == ["keep"])
    #expect(!LogFiles.isDirectory(before.path + "/t"))
    #expect(try reopened.topic("keep").values() == ["a"])
    reopened.close()
  }

  @Test func describeTellsOffsetsAndSegments() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("b", TopicOptions(partitions: 2))
    _ = try log.topic("a", TopicOptions())
    for _ in 0..<3 { _ = try topic.appendBlocking(key: nil, value: [1], timestamp: .min, partition: 1) }
    try topic.sealBlocking()
    let found = try log.describe()
    #expect(found.map(\.name) == ["a", "b"])
    #expect(found[1].records == 3)
    #expect(found[1].partitions.map(\.endOffset) == [0, 3])
    #expect(found[1].segments.map(\.isSealed) == [true, false])
    #expect(found[1].segments.map(\.startOffsets) == [[0, 0], [0, 3]])
    #expect(found[1].bytes > 0)
  }

  @Test func aBackupTakenWhileAppendingIsAWholeLog() async throws {
    let log = try EventLog.open(at: directory.path + "/log")
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    for number in 0..<20 {
      try topic.put("\(number)", key: "\(number)")
      if number % 6 == 5 { try await topic.seal() }
    }
    let appending = Task {
      for number in 20..<60 { _ = try await topic.append(contentsOf: [record("\(number)", key: "\(number)")]) }
    }
    try log.backup(to: directory.path + "/backup")
    try await appending.value
    #expect(failure { try log.backup(to: directory.path + "/backup") } != nil)
    let copy = try EventLog.open(at: directory.path + "/backup")
    let restored = try copy.topic("t")
    #expect(try copy.verify().isSound)
    for partition in 0..<2 {
      let values = try restored.values(partition)
      #expect(try Array(topic.values(partition).prefix(values.count)) == values)
    }
    #expect(try restored.values(0).count + restored.values(1).count >= 20)
    #expect(try restored.put("more", key: "1").offset >= 0)
  }

  @Test func manyTopicsShareOneLog() throws {
    let names = (0..<30).map { "topic-\($0)" }
    do {
      let log = try EventLog.open(at: directory.path)
      for name in names { try log.topic(name, TopicOptions(partitions: 3)).put(name, key: "k") }
    }
    let log = try EventLog.open(at: directory.path)
    #expect(try log.topicNames().count == 30)
    for name in names {
      let topic = try log.topic(name)
      #expect(try topic.reader(from: [0: 0, 1: 0, 2: 0]).drain().map(\.text) == [name])
    }
  }
}

@Suite struct SpaceTests {
  /// Files under `directory` that this process has open or mapped although they are gone.
  static func lingering(_ directory: String) -> [String] {
    var found: [String] = []
    for name in LogFiles.names(in: "/proc/self/fd") {
      var target = [CChar](repeating: 0, count: 4096)
      let count = readlink("/proc/self/fd/" + name, &target, target.count - 1)
      if count > 0 { found.append(String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)) }
    }
    let maps = String(decoding: Files.readAll("/proc/self/maps"), as: UTF8.self)
    found += maps.split(separator: "\n").map(String.init)
    return found.filter { $0.contains(directory) && $0.contains("(deleted)") }
  }

  @Test func aDeletedTopicGivesItsSpaceBackAtOnceWhoeverHoldsIt() throws {
    let directory = TemporaryDirectory()
    let log = try EventLog.open(at: directory.path)
    let elsewhere = try EventLog.open(at: directory.path, LogOptions(access: .readOnly))
    let topic = try log.topic("t", TopicOptions(segmentBytes: 1 << 20))
    for number in 0..<30 {
      _ = try topic.appendBlocking(key: nil, value: Array(repeating: 1, count: 100_000), timestamp: .min)
      if number % 10 == 5 { try topic.sealBlocking() }
    }
    let readers = try [topic, elsewhere.topic("t")].map { try $0.reader(partition: 0, from: 0) }
    for reader in readers { #expect(try reader.read(maxBytes: 1 << 20) { _ in } > 0) }
    #expect(Self.lingering(directory.path).isEmpty)
    try log.deleteTopic("t")
    // A reading process looks when it next reads.
    #expect(failure { _ = try readers[1].read { _ in } }?.code == .topicDeleted)
    #expect(Self.lingering(directory.path) == [])
    #expect(failure { try topic.put("x") }?.code == .topicDeleted)
  }

  @Test func whatRetentionAndCompactionRemoveIsLetGoOf() throws {
    let directory = TemporaryDirectory()
    let clock = TestClock()
    let log = try EventLog.open(at: directory.path, LogOptions(clock: clock.read))
    let topic = try log.topic(
      "t", TopicOptions(segmentBytes: 1 << 20, retentionAge: .seconds(100), compaction: Compaction()))
    let elsewhere = try EventLog.open(at: directory.path, LogOptions(access: .readOnly))
    let readers = try [topic, elsewhere.topic("t")].map { try $0.reader(partition: 0, from: 0) }
    for _ in 0..<3 {
      for _ in 0..<3 { try topic.put("x", key: "a") }
      try topic.sealBlocking()
      for reader in readers { #expect(try reader.read { _ in } > 0) }
    }
    try topic.compactBlocking()
    try topic.put("y", key: "a")
    for reader in readers { #expect(try reader.read { _ in } == 1) }
    #expect(Self.lingering(directory.path) == [])
    clock.advance(seconds: 101)
    #expect(try log.maintainBlocking() > 0)
    _ = try elsewhere.topic("t").offsets()
    #expect(Self.lingering(directory.path) == [])
  }
}
