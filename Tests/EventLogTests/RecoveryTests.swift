import Bytes
import Glibc
import LMDB
import Testing

@testable import EventLog

@Suite struct RecoveryTests {
  let directory = TemporaryDirectory()

  func filled(_ values: Int = 6) throws -> [String] {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    for number in 0..<values {
      _ = try topic.appendBlocking(
        key: nil, value: Array("\(number)".utf8), timestamp: .min, partition: number % 2)
      if number % 3 == 2 && number + 1 < values { try topic.sealBlocking() }
    }
    return try topic.describe().segments.map(\.path)
  }

  func all(_ log: EventLog) throws -> [String] {
    try log.topic("t").reader(from: [0: 0, 1: 0]).drain().map(\.text)
  }

  @Test func aSegmentLeftByAHalfDoneRollIsRemovedAndItsNumberUsedAgain() throws {
    let paths = try filled()
    // A crash after the file was made and before the catalogue named it: any content may be there.
    let next = directory.path + "/t/" + LogFiles.segmentName(99)
    for content in [[], Array("half a page".utf8), Files.read(paths[0])] {
      Files.write(next, content)
      Files.write(next + "-lock", [1, 2, 3])
      let log = try EventLog.open(at: directory.path)
      #expect(LogFiles.size(next) == nil && LogFiles.size(next + "-lock") == nil)
      #expect(try all(log) == (0..<6).map(String.init))
      log.close()
    }
  }

  @Test func aRollIsWholeAtEveryStep() throws {
    // The states that a crash can leave, taken by copying the files between the steps of a roll by hand.
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    for number in 0..<4 { try topic.put("\(number)", key: "\(number)") }
    let before = directory.copy()
    try topic.sealBlocking()
    let after = directory.copy()
    let newest = try topic.describe().segments.last?.path.split(separator: "/").last.map(String.init) ?? ""
    // The new file is complete, the catalogue does not know it.
    let between = directory.copy()
    Files.write(between.path + "/catalog.mdb", Files.read(before.path + "/catalog.mdb"))
    for (name, crashed) in [("before", before), ("between", between), ("after", after)] {
      let reopened = try EventLog.open(at: crashed.path)
      let topic = try reopened.topic("t")
      #expect(try Set((0..<2).flatMap { try topic.values($0) }) == ["0", "1", "2", "3"], "\(name)")
      #expect(try topic.describe().segments.count == (name == "after" ? 2 : 1))
      try topic.put("4", key: "4")
      try topic.sealBlocking()
      try topic.put("5", key: "5")
      #expect(try reopened.verify().isSound)
      #expect(try reopened.verify().records == 6)
      reopened.close()
    }
    #expect(!newest.isEmpty)
  }

  @Test func aTopicHalfCreatedIsGoneAndCanBeCreated() throws {
    try EventLog.open(at: directory.path).close()
    mkdir(directory.path + "/half", 0o755)
    Files.write(directory.path + "/half/" + LogFiles.segmentName(1), [1, 2, 3])
    mkdir(directory.path + "/empty", 0o755)
    let log = try EventLog.open(at: directory.path)
    #expect(!LogFiles.isDirectory(directory.path + "/half"))
    #expect(!LogFiles.isDirectory(directory.path + "/empty"))
    #expect(try log.topicNames() == [])
    #expect(try log.topic("half", TopicOptions()).put("a").offset == 0)
  }

  @Test func whatIsNotOursIsLeftAlone() throws {
    _ = try filled()
    Files.write(directory.path + "/t/notes.txt", [1])
    mkdir(directory.path + "/mine", 0o755)
    Files.write(directory.path + "/mine/notes.txt", [1])
    let log = try EventLog.open(at: directory.path)
    #expect(LogFiles.size(directory.path + "/t/notes.txt") == 1)
    #expect(LogFiles.size(directory.path + "/mine/notes.txt") == 1)
    try log.deleteTopic("t")
    #expect(LogFiles.names(in: directory.path + "/t") == ["notes.txt"])
    #expect(try log.topic("t", TopicOptions()).put("again").offset == 0)
  }

  @Test func aMissingSegmentRefusesToOpenAndSaysWhatIsMissing() throws {
    let paths = try filled()
    unlink(paths[0])
    let error = failure { _ = try EventLog.open(at: directory.path) }
    #expect(error?.code == .missingSegment)
    #expect(error?.path == paths[0])
    #expect(error?.description.contains("partition 0: 0..<2, partition 1: 0..<1") == true)
    // Told to report, it opens; the rest is readable, and verify names the damage.
    let log = try EventLog.open(at: directory.path, LogOptions(damage: .report))
    let topic = try log.topic("t")
    #expect(failure { _ = try topic.values(0) }?.code == .missingSegment)
    #expect(try topic.reader(partition: 0, from: 2).drain().map(\.text) == ["4"])
    let skipping = try topic.reader(from: [0: 0, 1: 0], damage: .skip)
    #expect(try skipping.drain().map(\.text) == ["3", "4", "5"])
    #expect(skipping.skipped.map(\.offsets) == [0..<2, 0..<1])
    #expect(try log.verify().damages.map(\.offsets) == [0..<2, 0..<1])
  }

  @Test(arguments: [0, 1]) func aTruncatedSegmentRefusesToOpen(index: Int) throws {
    let paths = try filled()
    truncate(paths[index], 8192 + 4096)
    let error = failure { _ = try EventLog.open(at: directory.path) }
    #expect(error?.code == .truncatedSegment)
    #expect(error?.path == paths[index])
    #expect(error?.description.contains("expected") == true)
  }

  @Test func aMissingCatalogueMakesNoNewLogOverOldFiles() throws {
    _ = try filled()
    unlink(directory.path + "/catalog.mdb")
    #expect(failure { _ = try EventLog.open(at: directory.path) }?.code == .damaged)
    Files.write(directory.path + "/catalog.mdb", [])
    #expect(failure { _ = try EventLog.open(at: directory.path) }?.code == .damaged)
    #expect(!LogFiles.names(in: directory.path + "/t").isEmpty)
  }

  @Test func aSecondWriterIsRefusedAndAReaderWithoutLogTold() throws {
    let log = try EventLog.open(at: directory.path)
    #expect(failure { _ = try EventLog.open(at: directory.path) }?.code == .alreadyOpen)
    log.close()
    let again = try EventLog.open(at: directory.path)
    again.close()
    let empty = TemporaryDirectory()
    #expect(failure { _ = try EventLog.open(at: empty.path, LogOptions(access: .readOnly)) }?.code == .notFound)
    #expect(
      failure { _ = try EventLog.open(at: empty.path + "/none", LogOptions(access: .readOnly)) }?.code == .notFound)
  }

  @Test func aNewerFormatIsRefused() throws {
    do {
      let log = try EventLog.open(at: directory.path)
      try log.core.catalog.write("test") { try log.core.catalog.setFormat(2, in: $0) }
    }
    let error = failure { _ = try EventLog.open(at: directory.path) }
    #expect(error?.code == .unsupportedFormat)
    #expect(error?.description.contains("upgrade") == true)
  }

  @Test func aDirectoryWithoutPermissionIsATypedError() throws {
    Files.write(directory.path + "/file", [1])
    #expect(failure { _ = try EventLog.open(at: directory.path + "/file") }?.code == .storage)
    if getuid() == 0 { return }
    chmod(directory.path, 0o500)
    #expect(failure { _ = try EventLog.open(at: directory.path + "/sub") }?.cause?.code == .permissionDenied)
    chmod(directory.path, 0o700)
  }

  @Test func everySynchedCommitIsThereWhereverTheWriterStops() throws {
    // The live segment as it was after each commit, under the newest catalogue: all that was acknowledged by then.
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    for number in 0..<10 as Range<Int64> {
      try topic.put("\(number)", key: "\(number)")
      let crashed = directory.copy()
      let reopened = try EventLog.open(at: crashed.path)
      let offsets = try reopened.topic("t").offsets()
      #expect(offsets.reduce(0) { $0 + $1.upperBound } == number + 1)
      #expect(try reopened.verify().isSound)
    }
  }
}
