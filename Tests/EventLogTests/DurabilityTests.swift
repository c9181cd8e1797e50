import Bytes
import Glibc
import LMDB
import Synchronization
import Testing

@testable import EventLog

/// Delays that pass when a test says so.
final class DelayList: DelayScheduler {
  private let jobs = Mutex<[(nanoseconds: Int, job: @Sendable () -> Void)]>([])

  func after(nanoseconds: Int, _ job: @escaping @Sendable () -> Void) {
    jobs.withLock { $0.append((nanoseconds, job)) }
  }

  var waiting: [Int] { jobs.withLock { $0.map(\.nanoseconds).sorted() } }

  /// Runs what was to be run within `nanoseconds`.
  func pass(_ nanoseconds: Int = .max) {
    let due = jobs.withLock { jobs in
      let due = jobs.filter { $0.nanoseconds <= nanoseconds }
      jobs.removeAll { $0.nanoseconds <= nanoseconds }
      return due
    }
    for job in due { job.job() }
  }

  func stop() { pass() }
}

extension LogTopic {
  /// Returns when the writer has done everything it was given so far.
  func settle() throws {
    let done = BlockingResult<Void>()
    try requireWriter().run(.thread(done)) { _ in }
    try done.wait()
  }
}

@Suite struct DurabilityTests {
  let directory = TemporaryDirectory()
  let timer = DelayList()
  static let second = 1_000_000_000

  func open(_ directory: TemporaryDirectory? = nil, _ change: (inout LogOptions) -> Void = { _ in }) throws -> EventLog
  {
    var options = LogOptions()
    options.timer = timer
    change(&options)
    return try EventLog.open(at: (directory ?? self.directory).path, options)
  }

  /// What the next process finds after this one was killed now.
  func afterKill(_ body: (EventLog, LogTopic) throws -> Void) throws {
    let copy = directory.copy()
    let log = try EventLog.open(at: copy.path)
    let topic = try log.topic("t")
    #expect(LogFiles.size(copy.path + "/t/journal") == nil)
    try body(log, topic)
    try topic.flushBlocking()
    #expect(try log.verify().isSound)
    log.close()
  }

  @Test(arguments: [Durability.interval(.seconds(10)), .system])
  func whatIsAcknowledgedBeforeItsSyncSurvivesTheProcess(_ durability: Durability) throws {
    let log = try open()
    let topic = try log.topic("t", TopicOptions(partitions: 2, durability: durability))
    for number in 0..<20 { #expect(try topic.put("\(number)", key: "a").offset == Int64(number)) }
    #expect(try topic.offsets().map(\.upperBound) == [0, 0], "readers see what is synced")
    #expect(topic.recovery == nil)
    try afterKill { (_, found) throws in
      #expect(
        try found.values(Array("a".utf8).withUnsafeBytes { found.partition(forKey: $0) }) == (0..<20).map(String.init))
      #expect(found.recovery == JournalRecovery(records: 20, lostRecords: 0))
      #expect(try found.put("next", key: "a").offset == 20)
    }
    log.close()
    #expect(LogFiles.size(directory.path + "/t/journal") == nil)
    let again = try open()
    #expect(try again.topic("t").recovery == nil)
    #expect(try again.topic("t").options.durability == durability)
    #expect(try again.verify().records == 20)
  }

  @Test func theIntervalBoundsHowLongTheyWaitForTheirSync() throws {
    let topic = try open().topic("t", TopicOptions(durability: .interval(.seconds(10))))
    try topic.put("a")
    try topic.put("b")
    try topic.settle()
    #expect(timer.waiting == [10 * Self.second])
    timer.pass(9 * Self.second)
    try topic.settle()
    #expect(try topic.values() == [])
    timer.pass(10 * Self.second)
    try topic.settle()
    #expect(try topic.values() == ["a", "b"])
    try topic.put("c")
    try topic.settle()
    #expect(timer.waiting == [10 * Self.second])
    #expect(try topic.values() == ["a", "b"])
    timer.pass()
    try topic.settle()
    #expect(try topic.values() == ["a", "b", "c"])
  }

  @Test func syncedTopicsHaveNoJournal() throws {
    let topic = try open().topic("t", TopicOptions())
    try topic.put("a")
    #expect(try topic.values() == ["a"])
    #expect(timer.waiting.isEmpty)
    #expect(LogFiles.size(directory.path + "/t/journal") == nil)
  }

  @Test func flushingSealingMaintainingAndBackingUpSync() throws {
    let log = try open()
    let topic = try log.topic("t", TopicOptions(durability: .system))
    try topic.put("a")
    try topic.flushBlocking()
    #expect(try topic.values() == ["a"])
    try topic.put("b")
    #expect(try topic.enqueue("c"))
    try topic.flushBlocking()
    #expect(try topic.values() == ["a", "b", "c"])
    try topic.put("d")
    try topic.sealBlocking()
    #expect(try topic.values() == ["a", "b", "c", "d"])
    try topic.put("e")
    try log.maintainBlocking()
    #expect(try topic.values() == ["a", "b", "c", "d", "e"])
    try topic.put("f")
    let target = TemporaryDirectory()
    try log.backup(to: target.path + "/copy")
    #expect(try topic.values().last == "f")
    let copy = try EventLog.open(at: target.path + "/copy")
    #expect(try copy.topic("t").values() == ["a", "b", "c", "d", "e", "f"])
    var appender = try topic.makeAppender()
    try Array("g".utf8).withUnsafeBytes { try appender.append(value: $0, timestamp: .min) }
    try appender.flushBlocking()
    #expect(try topic.values().last == "g")
  }

  @Test func aReaderWaitingAtTheEndHastensTheSync() throws {
    let topic = try open().topic("t", TopicOptions(durability: .interval(.seconds(3600))))
    let reader = try topic.reader(partition: 0, from: 0)
    #expect(try reader.drain().isEmpty)
    try topic.put("a")
    try topic.settle()
    #expect(timer.waiting == [3600 * Self.second])
    let wake = BlockingResult<Void>()
    let id = topic.state.wait(after: reader.seenSequence, .thread(wake))
    try topic.settle()
    #expect(timer.waiting == [TopicWriter.readerDelay, 3600 * Self.second])
    timer.pass(TopicWriter.readerDelay)
    try wake.wait()
    #expect(try reader.drain().map(\.text) == ["a"])
    _ = id
    // And one that waits before the append.
    let next = BlockingResult<Void>()
    _ = topic.state.wait(after: reader.seenSequence, .thread(next))
    try topic.put("b")
    try topic.settle()
    timer.pass(TopicWriter.readerDelay)
    try next.wait()
    #expect(try reader.drain().map(\.text) == ["b"])
  }

  @Test func enoughBytesAreSyncedWithoutADelay() throws {
    let topic = try open { $0.commitBytes = 4000 }.topic("t", TopicOptions(durability: .system))
    let value = String(repeating: "x", count: 1000)
    for number in 1...9 {
      try topic.put(value)
      try topic.settle()
      #expect(try topic.endOffset(0) == Int64(number / 4 * 4))
    }
    try topic.put(String(repeating: "y", count: 5000))
    #expect(try topic.endOffset(0) == 10, "a large one goes straight into the segment, behind the others")
  }

  @Test func aChangeToSyncedSyncsWithTheNextAppend() throws {
    let log = try open()
    let topic = try log.topic("t", TopicOptions(durability: .system))
    try topic.put("a")
    try log.setOptions(of: "t") { $0.durability = .synced }
    try topic.put("b")
    #expect(try topic.values() == ["a", "b"])
    try log.setOptions(of: "t") { $0.durability = .interval(.milliseconds(5)) }
    try topic.put("c")
    #expect(try topic.values() == ["a", "b"])
    try afterKill { (_, found) throws in #expect(try found.values() == ["a", "b", "c"]) }
    #expect(failure { try log.setOptions(of: "t") { $0.durability = .interval(.zero) } }?.code == .invalidTopic)
  }

  @Test func aTornJournalLosesItsEndOnlyAndSaysSo() throws {
    let seed = UInt64.random(in: 0..<1 << 32)
    print("DurabilityTests: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let topic = try open().topic("t", TopicOptions(durability: .system))
    for number in 0..<3 { try topic.put("synced \(number)") }
    try topic.flushBlocking()
    var ends: [Int] = [0]
    for number in 0..<12 {
      try topic.put("\(number)" + String(repeating: "-", count: Int.random(in: 0..<6000, using: &random)))
      ends.append(LogFiles.size(directory.path + "/t/journal") ?? 0)
    }
    let whole = Files.read(directory.path + "/t/journal")
    #expect(ends == ends.sorted() && ends.last == whole.count)
    for _ in 0..<40 {
      let crashed = directory.copy()
      var bytes = whole
      let place = Int.random(in: 0..<bytes.count, using: &random)
      if Bool.random(using: &random) {
        bytes.removeLast(bytes.count - place)
      } else {
        let end = min(bytes.count, place + 4096)
        bytes.replaceSubrange(place..<end, with: repeatElement(0xA5, count: end - place))
      }
      Files.write(crashed.path + "/t/journal", bytes)
      let log = try EventLog.open(at: crashed.path)
      let found = try log.topic("t")
      let kept = try #require(ends.lastIndex { $0 <= place })
      #expect(try found.values().count == 3 + kept, "damage at \(place), seed \(seed)")
      #expect(try found.values().dropFirst(3).map { $0.prefix { $0 != "-" } } == (0..<kept).map { "\($0)" })
      #expect(found.recovery?.records == kept)
      if place >= ends[kept] + JournalFrame.size { #expect((found.recovery?.lostRecords ?? 0) >= 1) }
      // Offsets and sequences of what was lost are given again; nothing of it comes back.
      #expect(try found.put("new").offset == Int64(3 + kept))
      log.close()
      let again = try EventLog.open(at: crashed.path)
      #expect(try again.topic("t").values().count == 4 + kept)
      #expect(try again.topic("t").recovery == nil)
      again.close()
    }
  }

  @Test func framesOfAnEarlierGenerationAreNotTakenForNewOnes() throws {
    let topic = try open().topic("t", TopicOptions(durability: .system))
    for number in 0..<10 { try topic.put("first \(number)") }
    try topic.flushBlocking()
    let long = LogFiles.size(directory.path + "/t/journal") ?? 0
    for count in 1...4 {
      try topic.put("second \(count)")
      #expect(LogFiles.size(directory.path + "/t/journal") == long, "the old frames stand behind the new ones")
      try afterKill { (_, found) throws in
        #expect(try found.values().count == 10 + count)
        #expect(found.recovery == JournalRecovery(records: count, lostRecords: 0))
      }
    }
    // A crash between the commit and the next frame: everything in the journal is in the segment, too.
    try topic.flushBlocking()
    try afterKill { (_, found) throws in
      #expect(try found.values().count == 14)
      #expect(found.recovery == JournalRecovery())
    }
  }

  @Test func aDeletedTopicsJournalIsNotItsNamesakes() throws {
    let log = try open()
    let topic = try log.topic("t", TopicOptions(durability: .system))
    try topic.put("old")
    let journal = Files.read(directory.path + "/t/journal")
    try log.deleteTopic("t")
    #expect(!LogFiles.isDirectory(directory.path + "/t"))
    let new = try log.topic("t", TopicOptions(durability: .system))
    Files.write(directory.path + "/t/journal", journal)
    try afterKill { (_, found) throws in #expect(try found.values() == []) }
    _ = new
    // A folder that the catalogue does not name goes with its journal.
    log.close()
    mkdir(directory.path + "/gone", 0o755)
    Files.write(directory.path + "/gone/journal", journal)
    try open().close()
    #expect(!LogFiles.isDirectory(directory.path + "/gone"))
  }

  @Test func repeatsExpectationsAndUnitsHoldAcrossTheJournal() throws {
    let log = try open()
    let topic = try log.topic("t", TopicOptions(partitions: 2, durability: .system))
    let producer = ProducerID(id: 7, epoch: 0)
    func send(_ topic: LogTopic, _ sequence: Int64, _ count: Int) throws -> IdempotentResult {
      let records = (0..<count).map { record("\(sequence + Int64($0))") }
      return try topic.appendIdempotentBlocking(records, partition: 1, producer: producer, sequence: sequence)
    }
    #expect(try send(topic, 0, 3).positions == 0..<3)
    #expect(try send(topic, 2, 3).repeated == 1)
    #expect(try topic.endOffset(1) == 0)
    #expect(failure { _ = try send(topic, 9, 1) }?.expectedSequence == 5)
    try afterKill { (_, found) throws in
      #expect(try send(found, 0, 5).repeated == 5)
      #expect(try send(found, 4, 2).positions == 5..<6)
      try found.flushBlocking()
      #expect(try found.values(1) == (0..<6).map(String.init))
    }
    // The outbox forgets what was appended: that is synced when it returns.
    _ = try topic.beginIdempotent([record("5")], partition: 1, producer: producer, sequence: 5).wait()
    #expect(try topic.values(1) == (0..<6).map(String.init))
    try topic.sealBlocking()
    #expect(try send(topic, 0, 6).repeated == 6)
  }

  @Test func aFullSegmentIsRolledWithWhatTheJournalHolds() throws {
    let log = try open { options in
      options.segmentMapBytes = 1 << 20
      options.commitBytes = 60_000
    }
    let topic = try log.topic("t", TopicOptions(durability: .system))
    let value = String(repeating: "v", count: 2500)
    for number in 0..<600 { #expect(try topic.put("\(number) " + value).offset == Int64(number)) }
    #expect(try topic.describe().segments.count > 1)
    try afterKill { (_, found) throws in
      #expect(try found.values().map { $0.prefix { $0 != " " } } == (0..<600).map { "\($0)" })
    }
  }
}
