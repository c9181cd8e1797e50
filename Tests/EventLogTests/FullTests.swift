import Bytes
import Glibc
import LMDB
import Testing

@testable import EventLog

/// No room left: a typed error that may be retried, nothing half-written visible, and the next append works.
@Suite struct FullTests {
  let directory = TemporaryDirectory()

  /// A log whose segments hold about a megabyte before their file is full.
  func open() throws -> (EventLog, LogTopic) {
    var options = LogOptions()
    options.segmentMapBytes = 1 << 20
    let log = try EventLog.open(at: directory.path, options)
    return (log, try log.topic("t", TopicOptions(segmentBytes: 1 << 30, maximumRecordBytes: 4 << 20)))
  }

  @Test func aFullSegmentIsSealedAndTheNextOneGoesOn() throws {
    let (log, topic) = try open()
    for number in 0..<40 {
      _ = try topic.appendBlocking(
        key: nil, value: Array(repeating: UInt8(number), count: 100_000), timestamp: .min)
    }
    #expect(try topic.describe().segments.count > 3)
    #expect(try topic.all().map(\.value.first) == (0..<40).map { UInt8($0) })
    #expect(try log.verify().isSound)
  }

  @Test func whatFitsNoSegmentFailsAndTheNextAppendWorks() async throws {
    let (log, topic) = try open()
    try topic.put("before")
    for _ in 0..<3 {
      let error = failure {
        _ = try topic.appendBlocking(key: nil, value: Array(repeating: 1, count: 2 << 20), timestamp: .min)
      }
      #expect(error?.code == .storage && error?.cause?.code == .mapFull)
      #expect(error?.isRetriable == true)
      #expect(try topic.values() == ["before"])
    }
    #expect(try await topic.append(key: nil, value: Array("after".utf8), timestamp: .min).offset == 1)
    log.close()
    let reopened = try EventLog.open(at: directory.path)
    #expect(try reopened.topic("t").values() == ["before", "after"])
    #expect(try reopened.verify().isSound)
  }

  @Test func everyCallerOfAFailedCommitHearsOfIt() async throws {
    let (_, topic) = try open()
    #expect(try topic.enqueue("enqueued"))
    #expect(try topic.enqueue(String(repeating: "x", count: 2 << 20)))
    let error = failure { try topic.flushBlocking() }
    #expect(error?.cause?.code == .mapFull)
    #expect(error?.description.contains("are not in the log") == true)
    #expect(failure { try topic.flushBlocking() } == nil)

    var appender = try topic.makeAppender()
    try Array(repeating: UInt8(1), count: 2 << 20).withUnsafeBytes { try appender.append(value: $0, timestamp: .min) }
    #expect(failure { try appender.flushBlocking() }?.cause?.code == .mapFull)
    try [UInt8(9)].withUnsafeBytes { try appender.append(value: $0, timestamp: .min) }
    try appender.flushBlocking()

    let producer = ProducerID(id: 1, epoch: 0)
    let large = NewRecord(key: nil, value: Array(repeating: 1, count: 2 << 20), timestamp: .min)
    await #expect(throws: EventLogError.self) {
      try await topic.appendIdempotent([large], partition: 0, producer: producer, sequence: 0)
    }
    // Nothing of it was written, so its number is still due.
    let next = try await topic.appendIdempotent([record("small")], partition: 0, producer: producer, sequence: 0)
    #expect(next.repeated == 0)
    #expect(try topic.all().last?.text == "small")
  }

  /// Needs the right to mount a file system of four megabytes; elsewhere the full map above stands for it.
  @Test(.enabled(if: TinyDisk.isPossible)) func aFullDiskIsATypedErrorAndAppendsGoOnWhenThereIsRoom() throws {
    let disk = try #require(TinyDisk(directory.path + "/disk"))
    let log = try EventLog.open(at: disk.path + "/log")
    let topic = try log.topic("t", TopicOptions())
    Files.write(disk.path + "/ballast", Array(repeating: 1, count: 1 << 20))
    var written = 0
    var error: EventLogError?
    while error == nil && written < 1000 {
      error = failure {
        _ = try topic.appendBlocking(key: nil, value: Array(repeating: 1, count: 100_000), timestamp: .min)
      }
      if error == nil { written += 1 }
    }
    #expect(error?.cause?.code == .diskFull)
    #expect(error?.isRetriable == true)
    #expect(try topic.endOffset(0) == Int64(written))
    #expect(try topic.all().count == written)
    unlink(disk.path + "/ballast")
    #expect(try topic.appendBlocking(key: nil, value: [1], timestamp: .min).offset == Int64(written))
    log.close()
    let reopened = try EventLog.open(at: disk.path + "/log")
    #expect(try reopened.topic("t").all().count == written + 1)
    #expect(try reopened.verify().isSound)
    reopened.close()
  }
}

/// A file system of four megabytes in memory.
final class TinyDisk {
  let path: String
  static var isPossible: Bool { getuid() == 0 && TinyDisk("/tmp/eventlog-probe-\(getpid())") != nil }

  init?(_ path: String) {
    self.path = path
    mkdir(path, 0o755)
    if mount("tmpfs", path, "tmpfs", 0, "size=4m") != 0 {
      rmdir(path)
      return nil
    }
  }

  deinit {
    umount2(path, Int32(MNT_DETACH))
    rmdir(path)
  }
}
