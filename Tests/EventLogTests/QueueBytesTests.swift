import Bytes
import Testing

@testable import EventLog

/// The bound of what may wait holds for ever: what was written leaves nothing behind in the count, and nothing less.
@Suite struct QueueBytesTests {
  @Test func whatWasWrittenIsCountedOutAsItWasCountedIn() async throws {
    let directory = TemporaryDirectory()
    let log = try EventLog.open(at: directory.path)
    let topic = try log.topic("t", TopicOptions(partitions: 3))
    let queue = try topic.requireWriter().queue
    for round in 0..<5 as Range<Int64> {
      try topic.put("alone", key: "\(round)")
      _ = try await topic.append(contentsOf: [record("a", key: "1"), record("b", key: "2"), record("c", key: "3")])
      for number in 0..<40 { _ = try topic.enqueue("enqueued \(number)", key: "\(number)") }
      try topic.flushBlocking()
      // The second is a repeat.
      for _ in 0..<2 {
        _ = try topic.appendIdempotentBlocking(
          [record("x"), record("y")], partition: 1, producer: ProducerID(id: 1, epoch: 0), sequence: round * 2)
      }
      var appender = try topic.makeAppender(recordsPerBatch: 2)
      for number in 0..<5 {
        try withUnsafeBytes(of: number) { try appender.append(key: $0, value: $0, timestamp: .min) }
      }
      try appender.flushBlocking()
      // The writer counts out after it has told everybody: when it does something else, it has.
      try topic.sealBlocking()
      #expect(queue.waitingBytes == 0)
    }
  }
}
