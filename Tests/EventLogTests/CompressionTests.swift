import Bytes
import Testing

@testable import EventLog

@Suite struct CompressionTests {
  let directory = TemporaryDirectory()

  static func line(_ number: Int) -> String {
    "{\"invoice\":\"\(500_000 + number / 7)\",\"item\":\"WHITE HANGING HEART T-LIGHT HOLDER\","
      + "\"quantity\":\(number % 12)}"
  }

  /// Bytes of the batches of the only segment, as they are stored.
  func stored(_ log: EventLog) throws -> Int { try log.verify().bytes }

  @Test func everyWayInComesBackAsItWas() throws {
    let log = try EventLog.open(at: directory.path, LogOptions(batchBytes: 4096))
    let topic = try log.topic("t", TopicOptions(compression: .zstd(level: 3)))
    var expected: [String] = []
    func next() -> String {
      expected.append(Self.line(expected.count))
      return expected.last ?? ""
    }
    try topic.put(next())
    _ = try topic.appendBlocking(contentsOf: (0..<300).map { _ in record(next(), key: "k") })
    for _ in 0..<200 { #expect(try topic.enqueue(next(), key: "k")) }
    try topic.flushBlocking()
    var appender = try topic.makeAppender(recordsPerBatch: 64)
    for _ in 0..<500 {
      try Array(next().utf8).withUnsafeBytes { try appender.append(key: $0, value: $0, timestamp: .min) }
    }
    try appender.flushBlocking()
    _ = try topic.appendIdempotentBlocking(
      (0..<100).map { _ in record(next()) }, partition: 0, producer: ProducerID(id: 1, epoch: 0), sequence: 0)
    #expect(try topic.values() == expected)
    let plain = expected.reduce(0) { $0 + $1.utf8.count }
    #expect(try stored(log) < plain / 3)
    #expect(try log.verify().isSound)
    // From every offset, also inside a compressed batch.
    for from in stride(from: 0, through: expected.count, by: 37) {
      let found = try topic.reader(partition: 0, from: Int64(from)).drain(maxBytes: 1)
      #expect(found.map(\.text) == Array(expected[from...]))
      #expect(found.map(\.offset) == Array(Int64(from)..<Int64(expected.count)))
    }
  }

  @Test func repeatsAtTheFrontOfACompressedBatchAreDropped() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(compression: .zstd(level: 1)))
    let records = (0..<100).map { record(Self.line($0)) }
    let producer = ProducerID(id: 7, epoch: 1)
    _ = try topic.appendIdempotentBlocking(
      Array(records[..<60]), partition: 0, producer: producer, sequence: 0)
    let result = try topic.appendIdempotentBlocking(
      Array(records[40...]), partition: 0, producer: producer, sequence: 40)
    #expect(result.repeated == 20)
    #expect(try topic.values() == (0..<100).map(Self.line))
  }

  @Test func theSettingMayChangeAndTheLogStaysReadable() throws {
    var expected: [String] = []
    for round in 0..<6 {
      let log = try EventLog.open(at: directory.path)
      let topic = try log.topic("t", TopicOptions())
      try log.setOptions(of: "t") { $0.compression = round % 2 == 0 ? .none : .zstd(level: round * 3) }
      for _ in 0..<5 {
        let values = (0..<40).map { Self.line(expected.count + $0) }
        expected += values
        _ = try topic.appendBlocking(contentsOf: values.map { record($0) })
      }
      if round == 3 { try topic.sealBlocking() }
      #expect(try topic.values() == expected)
      log.close()
    }
    // In another process's way, too.
    let reading = try EventLog.open(at: directory.path, LogOptions(access: .readOnly))
    #expect(try reading.topic("t").values() == expected)
    #expect(try reading.topic("t").options.compression == .zstd(level: 15))
  }

  @Test func largeRecordsAndThoseThatDoNotShrinkAreKept() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(maximumRecordBytes: 12 << 20, compression: .zstd))
    var random = SeededGenerator(seed: 5)
    let noise = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    let values: [[UInt8]] = [[], [1], noise, Array(repeating: 7, count: 12 << 20), noise, []]
    for value in values { _ = try topic.appendBlocking(key: nil, value: value, timestamp: .min) }
    #expect(try topic.all().map(\.value) == values)
    #expect(try stored(log) < 300_000)
  }

  @Test func aFlippedBitInACompressedBatchIsNamed() throws {
    var log = try EventLog.open(at: directory.path)
    var topic = try log.topic("t", TopicOptions(compression: .zstd))
    var random = SeededGenerator(seed: 9)
    for batch in 0..<5 as Range<Int64> {
      // Above what lies among LMDB's own entries, which are moved and leave copies behind.
      let values = (0..<400).map { Self.line($0) + String(UInt64.random(in: 0...UInt64.max, using: &random)) }
      _ = try topic.appendIdempotentBlocking(
        values.map { record($0) }, partition: 0, producer: ProducerID(id: 1, epoch: 0), sequence: batch * 400)
    }
    let path = try topic.describe().segments[0].path
    log.close()
    // The zstd frame's own mark: the third one in the file belongs to some batch.
    let bytes = Files.read(path)
    let marks = bytes.indices.dropLast(4).filter { Array(bytes[$0..<$0 + 4]) == [0x28, 0xB5, 0x2F, 0xFD] }
    #expect(marks.count == 5)
    Files.flipBit(path, at: marks[2] + 20)
    log = try EventLog.open(at: directory.path)
    topic = try log.topic("t")
    let error = failure { _ = try topic.all() }
    #expect(error?.code == .damaged)
    let range = try #require(error?.damagedRange)
    #expect(range.count == 400)
    let rest = try topic.all(damage: .skip)
    #expect(rest.map(\.offset) == Array(0..<2000).filter { !range.contains($0) })
    #expect(try log.verify().damages.map(\.offsets) == [range])
  }
}
