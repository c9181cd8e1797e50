import Bytes
import CrashSupport
import EventLog

extension LogLife {
  typealias Topics = [(LogWorkload.Topic, LogTopic)]
  private typealias Identity = LogWorkload.Identity

  /// One record at a time, each awaited.
  func appendAwaited(_ producer: Int, _ topics: Topics) async {
    var random = generator(producer)
    var next = 0
    while goesOn {
      let (topic, open) = topics[Int.random(in: 0..<topics.count, using: &random)]
      let record = workload.newRecord(Identity(producer, next), in: topic)
      let number = begin(.append, topic, producer, next, 1)
      next += 1
      do {
        let position = try await open.append(
          key: record.key, value: record.value, timestamp: record.timestamp, headers: record.headers)
        acknowledge(number, [position])
      } catch {
        fail(number, error)
      }
    }
  }

  /// Several records as one.
  func appendGroups(_ producer: Int, _ topics: Topics) async {
    var random = generator(producer)
    var next = 0
    while goesOn {
      let (topic, open) = topics[Int.random(in: 0..<topics.count, using: &random)]
      let count = Int.random(in: 2...6, using: &random)
      let records = (next..<next + count).map { workload.newRecord(Identity(producer, $0), in: topic) }
      let number = begin(.group, topic, producer, next, count)
      next += count
      do {
        acknowledge(number, try await open.append(contentsOf: records))
      } catch {
        fail(number, error)
      }
    }
  }

  /// Many records nobody waits for, and a flush now and then. One producer of this kind to a topic: a failure is told
  /// to one of those who flush.
  func enqueue(_ producer: Int, _ topic: (LogWorkload.Topic, LogTopic)) async {
    var random = generator(producer)
    var next = 0
    while goesOn {
      let count = Int.random(in: 1...20, using: &random)
      let number = begin(.enqueue, topic.0, producer, next, count)
      do {
        for index in next..<next + count {
          try await accept(workload.newRecord(Identity(producer, index), in: topic.0), topic.1)
        }
        acknowledge(number)
      } catch {
        fail(number, error)
      }
      next += count
      if Int.random(in: 0..<4, using: &random) > 0 { continue }
      let flush = begin(.flush, topic.0, producer, next, 0)
      do {
        try await topic.1.flush()
        acknowledge(flush)
      } catch {
        fail(flush, error)
      }
    }
  }

  private func accept(_ record: NewRecord, _ topic: LogTopic) async throws {
    if record.headers.isEmpty && record.value.count % 2 == 0 {
      let isAccepted = try record.value.withUnsafeBytes { value in
        guard let key = record.key else {
          return try topic.enqueue(key: nil, value: value, timestamp: record.timestamp)
        }
        return try key.withUnsafeBytes { try topic.enqueue(key: $0, value: value, timestamp: record.timestamp) }
      }
      if isAccepted { return }
    }
    try await topic.send(
      key: record.key, value: record.value, timestamp: record.timestamp, headers: record.headers)
  }

  /// One after the other under sequence numbers, over all lives; what was not acknowledged is sent again.
  func appendIdempotent(_ producer: Int, _ first: Int, _ topic: (LogWorkload.Topic, LogTopic)) async {
    var random = generator(producer)
    var next = first
    let partition = producer % topic.0.partitions
    while goesOn {
      let count = Int.random(in: 1...5, using: &random)
      let records = (next..<next + count).map { workload.newRecord(Identity(producer, $0), in: topic.0) }
      var attempts = 0
      while attempts < 3 && !isFailed {
        attempts += 1
        let number = begin(.idempotent, topic.0, producer, next, count)
        do {
          let result = try await topic.1.appendIdempotent(
            records, partition: partition, producer: ProducerID(id: UInt64(producer), epoch: 0), sequence: Int64(next))
          // A lucky repeat: positions of those are known only while they are remembered.
          let isWhole = result.repeated == 0
          acknowledge(number, isWhole ? result.positions.map { LogPosition(partition: partition, offset: $0) } : [])
          next += count
          break
        } catch {
          fail(number, error)
        }
      }
      if attempts == 3 { return }
    }
  }
}
