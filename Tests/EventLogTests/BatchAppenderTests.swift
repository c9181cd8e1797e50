import Bytes
import Testing

@testable import EventLog

@Suite struct BatchAppenderTests {
  let directory = TemporaryDirectory()

  @Test func recordsAreThereAfterTheFlushInOrder() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 3))
    var appender = try topic.makeAppender(recordsPerBatch: 7)
    for number in 0..<1000 {
      let key = Array("\(number % 11)".utf8)
      try key.withUnsafeBytes { key in
        try Array("\(number)".utf8).withUnsafeBytes {
          try appender.append(key: key, value: $0, timestamp: Timestamp(microseconds: Int64(number)))
        }
      }
    }
    try appender.flushBlocking()
    let found = try (0..<3).flatMap { try topic.all($0) }
    #expect(found.count == 1000)
    for key in Set(found.map(\.key)) {
      let numbers = found.filter { $0.key == key }.compactMap { Int($0.text) }
      #expect(numbers == numbers.sorted())
    }
  }

  @Test func aValueEncodedInPlaceIsUndoneIfItThrowsOrIsTooLarge() throws {
    struct Refused: Error {}
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(maximumRecordBytes: 50))
    var appender = try topic.makeAppender()
    try [UInt8(1)].withUnsafeBytes { key in
      try appender.append(key: key, timestamp: .max) { $0.append(utf8: "first") }
      #expect(throws: Refused.self) {
        try appender.append(key: key, timestamp: .min) {
          $0.append(utf8: "half")
          throw Refused()
        }
      }
      let error = failure {
        try appender.append(key: key, timestamp: .min) { $0.append([UInt8](repeating: 1, count: 50)) }
      }
      #expect(error?.size == 51 && error?.limit == 50)
      try appender.append(key: key, timestamp: .min) { _ in }
      try appender.append(key: key, timestamp: Timestamp(microseconds: 5)) { $0.append(utf8: "last") }
    }
    try appender.flushBlocking()
    #expect(try topic.values() == ["first", "", "last"])
    #expect(try topic.all().map(\.timestamp) == [.max, .min, Timestamp(microseconds: 5)])
  }

  @Test func whatWasNotFlushedIsNotThere() async throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 2))
    do {
      var dropped = try topic.makeAppender()
      try [UInt8(1)].withUnsafeBytes { try dropped.append(value: $0, timestamp: .min) }
    }
    var appender = try topic.makeAppender(recordsPerBatch: 2)
    for number in 0..<8 { try [UInt8(number)].withUnsafeBytes { try appender.append(value: $0, timestamp: .min) } }
    try await appender.flush()
    #expect(try topic.all(0).map(\.value) == [[0], [1], [4], [5]])
    #expect(try topic.all(1).map(\.value) == [[2], [3], [6], [7]])
    try appender.flushBlocking()
  }

  @Test func aFullQueueMakesTheAppenderWait() throws {
    let log = try EventLog.open(at: directory.path, LogOptions(maximumPendingBytes: 1024))
    let topic = try log.topic("t", TopicOptions())
    var appender = try topic.makeAppender(recordsPerBatch: 3)
    for number in 0..<500 {
      try Array(repeating: UInt8(truncatingIfNeeded: number), count: 200).withUnsafeBytes {
        try appender.append(value: $0, timestamp: .min)
      }
    }
    try appender.flushBlocking()
    #expect(try topic.endOffset(0) == 500)
  }

  @Test func whatWasEnqueuedBeforeComesBefore() throws {
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions())
    #expect(try topic.enqueue("enqueued"))
    var appender = try topic.makeAppender()
    try Array("appended".utf8).withUnsafeBytes { try appender.append(value: $0, timestamp: .min) }
    try appender.flushBlocking()
    #expect(try topic.values() == ["enqueued", "appended"])
  }
}
