import Bytes
public import Dataflow
import EventLog

/// A topic as a job's sink: what a job sends appears in the topic exactly once, after the checkpoint that made it.
///
/// Order is kept per key as far as the job keeps it.
public struct TopicSink<Event: Sendable>: Sink {
  public typealias Element = Event

  let topic: Topic<Event>

  public var name: String { "append to \(topic.name)" }

  public func open(_ context: OperatorContext) throws -> TopicSinkWriter<Event> {
    guard let record = try context.checkpoints.job(context.job) else {
      throw StoreError(.io, path: "job \(context.job)", detail: "it is not in the catalogue")
    }
    return TopicSinkWriter(topic, job: context.job, incarnation: record.incarnation)
  }
}

/// Gathers one subtask's outgoing events per partition until the barrier.
public final class TopicSinkWriter<Event: Sendable>: SinkWriter {
  public typealias Element = Event

  private let topic: Topic<Event>
  private let outbox: Outbox
  private let target: OutboxTarget
  private let producer: UInt64
  private let epoch: UInt32
  private var full: [UInt32: [SealedRow]] = [:]
  private var open: [OpenRow?]
  private var key = ByteBuffer(capacity: 64)
  private var value = ByteBuffer(capacity: 256)

  private final class OpenRow {
    var row = OutboxRow()

    func seal() -> SealedRow {
      var finished = OutboxRow()
      swap(&finished, &row)
      return finished.finish()
    }
  }

  init(_ topic: Topic<Event>, job: String, incarnation: UInt64) {
    self.topic = topic
    outbox = topic.store.outbox
    target = OutboxTarget(id: topic.log.id, topic: topic.name)
    producer = target.producer(of: job)
    outbox.open(producer, job: job)
    epoch = UInt32(truncatingIfNeeded: incarnation)
    open = Array(repeating: nil, count: topic.partitions)
  }

  public func write(_ batch: consuming Batch<Event>) throws {
    let coding = topic.coding
    for index in 0..<batch.count {
      key.removeAll()
      value.removeAll()
      coding.encodeKey(batch[index], &key)
      try coding.encode(batch[index], &value)
      // The log would refuse it, for ever: refuse it here, before it is part of a checkpoint.
      let bytes = key.count + value.count
      try topic.log.checkSize(key: key.count, total: bytes)
      guard bytes <= OutboxRow.maximumRecordBytes else {
        var error = EventLogError(
          .recordTooLarge,
          "a record of \(bytes) bytes is above what a job can send, \(OutboxRow.maximumRecordBytes) bytes",
          topic: topic.name)
        error.size = bytes
        error.limit = OutboxRow.maximumRecordBytes
        throw error
      }
      let time = coding.timestamp?(batch[index]) ?? batch.timestamp(index)
      let partition = unsafe topic.log.partition(forKey: key.bytes)
      if let row = open[partition], row.row.isFull(for: bytes) { close(partition) }
      let row = open[partition] ?? OpenRow()
      open[partition] = row
      unsafe row.row.append(key: key.bytes, value: value.bytes, timestamp: time)
    }
  }

  public func seal(epoch _: UInt64) throws -> [any SealedPart] {
    for partition in open.indices { close(partition) }
    if full.isEmpty { return [] }
    defer { full = [:] }
    return [OutboxPart(outbox: outbox, target: target, producer: producer, epoch: epoch, rows: full)]
  }

  private func close(_ partition: Int) {
    guard let row = open[partition] else { return }
    open[partition] = nil
    full[UInt32(partition), default: []].append(row.seal())
  }
}

extension Stream {
  /// Appends the records to `topic`: exactly once, through the job's checkpoints, whatever crashes.
  public func append(to topic: Topic<Element>) { sink(TopicSink(topic: topic)) }
}

extension KeyedStream {
  /// Appends the records to `topic`: exactly once, through the job's checkpoints, whatever crashes.
  public func append(to topic: Topic<Element>) { stream.append(to: topic) }
}
