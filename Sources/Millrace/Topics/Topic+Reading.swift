public import Bytes
import Dataflow
import EventLog

extension Topic {
  /// An event with its place and time.
  public struct Entry: Sendable {
    public var event: Event
    public var partition: Int
    public var offset: Int64
    public var timestamp: Timestamp
  }

  /// The events of `partition` from `offset` on: to the end as it is when iteration begins or, tailing, until the task
  /// is cancelled. Reading happens off the cooperative pool.
  ///
  /// - Throws: while iterating: `EventLogError.offsetOutOfRange` with the valid range; `StoreError.undecodableRecord`.
  public func events(
    partition: Int, from offset: Int64, tailing: Bool = false, onUndecodable: UndecodablePolicy = .fail
  ) -> EventSequence<Event> {
    EventSequence(
      records: log.records(partition: partition, from: offset, tailing: tailing), topic: self, policy: onUndecodable)
  }

  /// The events of all partitions in order of arrival, from the log's start.
  public func events(
    tailing: Bool = false, onUndecodable: UndecodablePolicy = .fail
  ) throws -> EventSequence<Event> {
    var offsets: [Int: Int64] = [:]
    for (partition, range) in try log.offsets().enumerated() { offsets[partition] = range.lowerBound }
    return EventSequence(
      records: log.records(from: offsets, tailing: tailing), topic: self, policy: onUndecodable)
  }

  /// The event in the bytes of a record of this topic.
  public func decode(_ value: [UInt8]) throws -> Event {
    try unsafe value.withUnsafeBytes { try unsafe coding.decodeOne($0) }
  }
}

/// The events of a topic as an asynchronous sequence.
public struct EventSequence<Event: Sendable>: AsyncSequence, Sendable {
  public typealias Element = Topic<Event>.Entry
  public typealias Failure = any Error

  let records: RecordSequence
  let topic: Topic<Event>
  let policy: UndecodablePolicy

  public func makeAsyncIterator() -> Iterator {
    Iterator(records: records.makeAsyncIterator(), topic: topic, policy: policy)
  }

  public struct Iterator: AsyncIteratorProtocol {
    var records: RecordSequence.Iterator
    let topic: Topic<Event>
    let policy: UndecodablePolicy

    public mutating func next() async throws -> Topic<Event>.Entry? {
      while let record = try await records.next() {
        do {
          let event = try topic.decode(record.value)
          return Topic<Event>.Entry(
            event: event, partition: record.partition, offset: record.offset, timestamp: record.timestamp)
        } catch {
          if policy == .skip { continue }
          throw StoreError.undecodable(topic.name, record.partition, record.offset, error)
        }
      }
      return nil
    }
  }
}
