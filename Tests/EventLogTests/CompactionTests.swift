import Bytes
import Glibc
import LMDB
import Synchronization
import Testing

@testable import EventLog

@Suite struct CompactionTests {
  let directory = TemporaryDirectory()
  let clock = TestClock()

  func open(
    _ compaction: Compaction? = Compaction(tombstoneDelay: .seconds(60)), partitions: Int = 1,
    retentionAge: Duration? = nil, _ change: (inout LogOptions) -> Void = { _ in }
  ) throws -> (EventLog, LogTopic) {
    var options = LogOptions(clock: clock.read)
    change(&options)
    let log = try EventLog.open(at: directory.path, options)
    return (
      log,
      try log.topic(
        "t",
        TopicOptions(
          partitions: partitions, segmentBytes: 1 << 20, retentionAge: retentionAge, compaction: compaction))
    )
  }

  func files() -> [String] { LogFiles.names(in: directory.path + "/t").filter { $0.hasSuffix(".mdb") } }

  func shown(_ topic: LogTopic) throws -> [String] {
    try topic.all().map { "\($0.offset):\($0.key.map { String(decoding: $0, as: UTF8.self) } ?? "-")=\($0.text)" }
  }

  @Test func theLatestRecordOfEachKeyStaysAtItsOffset() throws {
    let (log, topic) = try open()
    for (key, value) in [("a", "1"), ("b", "1"), ("a", "2"), ("", "1"), ("b", "2"), ("", "2")] {
      try topic.put(value, key: key)
    }
    try topic.put("marker")
    try topic.put("marker")
    try topic.sealBlocking()
    try topic.put("3", key: "a")
    let result = try topic.compactBlocking()
    #expect(try shown(topic) == ["2:a=2", "4:b=2", "5:=2", "6:-=marker", "7:-=marker", "8:a=3"])
    #expect(result.recordsBefore == 8 && result.recordsAfter == 5 && result.passes == 1)
    #expect(try topic.offsets() == [0..<9])
    #expect(try topic.describe().records == 6)
    #expect(try topic.describe().segments.map(\.isCompacted) == [true, false])
    #expect(try log.verify().isSound)
    // Every offset of the range is one to read from; those outside are not.
    #expect(try topic.reader(partition: 0, from: 0).drain().first?.offset == 2)
    #expect(failure { _ = try topic.reader(partition: 0, from: 10) }?.validRange == 0..<9)
    // The live segment takes part once it is sealed.
    try topic.sealBlocking()
    try topic.compactBlocking()
    #expect(try shown(topic) == ["4:b=2", "5:=2", "6:-=marker", "7:-=marker", "8:a=3"])
    #expect(files().count == 2)
  }

  @Test func tombstonesGoSomeTimeAfterTheFirstCompactionThatMetThem() throws {
    let (_, topic) = try open()
    try topic.put("1", key: "a")
    try topic.put("", key: "a")
    try topic.put("", key: "never there")
    try topic.put("")
    clock.advance(seconds: 1000)
    try topic.sealBlocking()
    #expect(try topic.compactBlocking().tombstonesRemoved == 0)
    #expect(try shown(topic) == ["1:a=", "2:never there=", "3:-="])
    clock.advance(seconds: 59)
    // A second one does not begin the delay anew, whatever else it does.
    try topic.put("1", key: "b")
    try topic.put("", key: "c")
    try topic.sealBlocking()
    try topic.compactBlocking()
    #expect(try shown(topic) == ["1:a=", "2:never there=", "3:-=", "4:b=1", "5:c="])
    clock.advance(seconds: 1)
    #expect(try topic.compactBlocking().tombstonesRemoved == 2)
    #expect(try shown(topic) == ["3:-=", "4:b=1", "5:c="])
    clock.advance(seconds: 59)
    #expect(try topic.compactBlocking().tombstonesRemoved == 1)
    #expect(try shown(topic) == ["3:-=", "4:b=1"])
  }

  @Test func youngSegmentsAndWhatIsBehindThemAreLeftAlone() throws {
    let (_, topic) = try open(Compaction(tombstoneDelay: .zero, minimumAge: .seconds(10)))
    try topic.put("1", key: "a")
    try topic.put("2", key: "a")
    try topic.sealBlocking()
    clock.advance(seconds: 9)
    try topic.put("3", key: "a")
    try topic.sealBlocking()
    #expect(try topic.compactBlocking() == CompactionResult())
    clock.advance(seconds: 1)
    try topic.compactBlocking()
    #expect(try shown(topic) == ["1:a=2", "2:a=3"])
    clock.advance(seconds: 9)
    try topic.compactBlocking()
    #expect(try shown(topic) == ["2:a=3"])
  }

  @Test func aTopicThatKeepsAllIsNotCompacted() throws {
    let (_, topic) = try open(nil)
    #expect(failure { try topic.compactBlocking() }?.code == .invalidTopic)
    let reading = try EventLog.open(at: directory.path, LogOptions(access: .readOnly))
    #expect(failure { try reading.topic("t").compactBlocking() }?.code == .readOnly)
  }

  @Test func maintenanceCompactsWhenHalfOfTheLogIsNew() throws {
    let (log, topic) = try open()
    let value = String(repeating: "x", count: 100_000)
    func addSegment(_ keys: [String]) throws {
      for key in keys { try topic.put(value, key: key) }
      try topic.sealBlocking()
    }
    func maintain() throws {
      try log.maintainBlocking()
      topic.waitForCompaction()
    }
    try maintain()
    try addSegment(["a", "b", "c", "a"])
    try maintain()
    #expect(try topic.describe().records == 3)
    // A quarter of the sealed bytes is not enough, two of five parts neither, three of six are.
    for (round, records) in [(0, 4), (1, 5), (2, 3)] as [(Int, Int64)] {
      try addSegment(["a"])
      try maintain()
      #expect(try topic.describe().records == records, "round \(round)")
    }
    // Tombstones whose time is over are a reason by themselves.
    try topic.put("", key: "b")
    try topic.sealBlocking()
    try topic.compactBlocking()
    #expect(try topic.describe().records == 3)
    clock.advance(seconds: 60)
    try maintain()
    #expect(try topic.describe().records == 2)
  }

  @Test func maintenanceReportsWhatItsCompactionMetOnce() throws {
    let (log, topic) = try open { options in options.onCompactionStep = { _ in throw CompactionInterrupted() } }
    try topic.put("1", key: "a")
    try topic.put("2", key: "a")
    try topic.sealBlocking()
    try log.maintainBlocking()
    topic.waitForCompaction()
    #expect(throws: CompactionInterrupted.self) { try log.maintainBlocking() }
    #expect(try topic.values() == ["1", "2"])
  }

  @Test func moreKeysThanFitIntoMemoryTakeSeveralPasses() throws {
    let (log, topic) = try open { options in
      options.compactionBytes = 20_000
      options.batchBytes = 1024
    }
    let filling = String(repeating: "x", count: 600)
    for round in 0..<3 {
      _ = try topic.appendBlocking(
        contentsOf: (0..<2000).map { record(filling + "\(round)", key: "a key of some length \($0)") })
      if round < 2 { try topic.sealBlocking() }
    }
    try topic.sealBlocking()
    let result = try topic.compactBlocking()
    #expect(result.passes > 4)
    #expect(result.recordsAfter == 2000)
    #expect(try topic.all().map(\.text) == Array(repeating: filling + "2", count: 2000))
    #expect(try topic.all().map(\.offset) == Array(4000..<6000))
    #expect(try log.verify().isSound)
  }

  @Test func progressRisesToTheWhole() throws {
    let (_, topic) = try open()
    for round in 0..<4 {
      _ = try topic.appendBlocking(contentsOf: (0..<500).map { record("\(round)", key: "\($0 % 50)") })
    }
    try topic.sealBlocking()
    let seen = Mutex<[CompactionProgress]>([])
    try topic.compactBlocking { progress in seen.withLock { $0.append(progress) } }
    let found = seen.withLock { $0 }
    #expect(zip(found, found.dropFirst()).allSatisfy { $0.bytesDone <= $1.bytesDone })
    #expect(found.allSatisfy { $0.bytesDone <= $0.bytesInAll })
    #expect(found.count > 2)
  }

  @Test func whoHoldsSegmentsHoldsOffTheirReplacement() throws {
    let isReady = Semaphore()
    let (log, topic) = try open { options in
      options.onCompactionStep = { if $0 == .directorySynced { isReady.signal() } }
    }
    for value in ["1", "2"] { try topic.put(value, key: "a") }
    try topic.sealBlocking()
    let before = try topic.describe().segments.map(\.number)
    try log.holdingRetention {
      try log.maintainBlocking()
      isReady.wait()
      // Appends go on meanwhile, and so does the roll.
      try topic.put("3", key: "a")
      #expect(try topic.describe().segments.map(\.number) == before)
      #expect(try topic.values() == ["1", "2", "3"])
    }
    topic.waitForCompaction()
    #expect(try topic.describe().segments.map(\.number) != before)
    #expect(try topic.values() == ["2", "3"])
  }

  @Test func retentionThatRemovesWhatIsBeingCompactedWins() throws {
    let hook = Mutex<(@Sendable () throws -> Void)?>(nil)
    let (log, topic) = try open(retentionAge: .seconds(100)) { options in
      options.onCompactionStep = { step in
        if step == .directorySynced { try hook.withLock { $0.take() }?() }
      }
    }
    for key in ["a", "b", "a"] { try topic.put("old", key: key) }
    try topic.sealBlocking()
    clock.advance(seconds: 90)
    for key in ["a", "b", "a"] { try topic.put("new", key: key) }
    try topic.sealBlocking()
    let clock = clock
    hook.withLock {
      $0 = {
        clock.advance(seconds: 20)
        _ = try log.maintainBlocking()
      }
    }
    try topic.compactBlocking()
    #expect(try topic.offsets() == [3..<6])
    #expect(try shown(topic) == ["4:b=new", "5:a=new"])
    #expect(try log.verify().isSound)
    #expect(files().count == (try topic.describe().segments.count))
    // What is left goes by the age of its own records.
    clock.advance(seconds: 81)
    try log.maintainBlocking()
    #expect(try topic.offsets() == [6..<6])
  }

  @Test func damageEndsACompactionWhereItIs() throws {
    var (log, topic) = try open()
    let value = String(repeating: "v", count: 5000)
    for round in 0..<2 {
      for key in ["a", "a", "b"] { try topic.put(value + "\(round)", key: key) }
      try topic.sealBlocking()
    }
    try topic.put("end", key: "a")
    let path = try topic.describe().segments[1].path
    log.close()
    let at = try #require(Files.find(Array((value + "1").utf8), in: path))
    Files.flipBit(path, at: at + 5001 - 1)
    (log, topic) = try open()
    let error = failure { try topic.compactBlocking() }
    #expect(error?.code == .damaged)
    #expect(error?.path == path)
    #expect(try topic.all(damage: .skip).count >= 5)
    #expect(files().count == 3)
  }

  @Test func idempotentProducersGoOnWhereTheyWere() throws {
    var (log, topic) = try open()
    let producer = ProducerID(id: 4, epoch: 2)
    for sequence in 0..<5 as Range<Int64> {
      _ = try topic.appendIdempotentBlocking(
        [record("\(sequence)", key: "a")], partition: 0, producer: producer, sequence: sequence)
    }
    try topic.sealBlocking()
    try topic.compactBlocking()
    log.close()
    (log, topic) = try open()
    let again = try topic.appendIdempotentBlocking(
      [record("4", key: "a"), record("5", key: "a")], partition: 0, producer: producer, sequence: 4)
    #expect(again.repeated == 1)
    #expect(
      failure {
        _ = try topic.appendIdempotentBlocking(
          [record("x", key: "a")], partition: 0, producer: producer, sequence: 9)
      }?.expectedSequence == 6)
    #expect(try topic.values() == ["4", "5"])
  }

  @Test func aCancelledCompactionEndsAndLeavesNothingBehind() async throws {
    let begun = Semaphore()
    let goOn = Semaphore()
    let (log, topic) = try open { options in
      options.onCompactionStep = { step in
        if step != .fileCreated { return }
        begun.signal()
        goOn.wait()
      }
    }
    for value in ["1", "2"] { try topic.put(value, key: "a") }
    try topic.sealBlocking()
    let count = files().count
    let task = Task { try await topic.compact() }
    await withCheckedContinuation { continuation in
      OSThread.start(name: "waits") {
        begun.wait()
        continuation.resume()
      }
    }
    task.cancel()
    goOn.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(files().count == count)
    #expect(try topic.values() == ["1", "2"])
    log.close()
  }

  @Test func closingAndDeletingEndACompaction() throws {
    for isDeleted in [false, true] {
      let begun = Semaphore()
      let goOn = Semaphore()
      let (log, topic) = try open { options in
        options.onCompactionStep = { step in
          if step != .batchesWritten { return }
          begun.signal()
          _ = goOn.wait(milliseconds: 50)
        }
      }
      for value in ["1", "2"] { try topic.put(value, key: "a") }
      try topic.sealBlocking()
      try log.maintainBlocking()
      begun.wait()
      if isDeleted { try log.deleteTopic("t") } else { log.close() }
      #expect(isDeleted != LogFiles.isDirectory(directory.path + "/t"))
      if !isDeleted { #expect(files().count == 2) }
    }
  }

  @Test func smallSegmentsBecomeOne() throws {
    let (log, topic) = try open()
    for number in 0..<10 {
      try topic.put("\(number)", key: "\(number)")
      try topic.sealBlocking()
    }
    try topic.put("x", key: "0")
    try topic.sealBlocking()
    let result = try topic.compactBlocking()
    #expect(result.segmentsBefore == 11 && result.segmentsAfter < 11)
    #expect(try topic.values() == (1..<10).map { "\($0)" } + ["x"])
    #expect(files().count == (try topic.describe().segments.count))
    #expect(try log.verify().isSound)
  }
}
