import Bytes
public import Dataflow
import EventLog
import Synchronization

/// A topic as a job's source: positions are offsets, keys are the records' own, times are theirs.
///
/// Reads only what is durable, so a checkpoint never holds a position that the log could lose.
public struct TopicSource<Event: Sendable>: Source {
  public typealias Element = Event

  let topic: Topic<Event>
  let policy: UndecodablePolicy
  let skipped = SkipCounter()

  public var name: String { topic.name }
  public var partitionCount: Int { topic.partitions }

  public func startPositions() throws -> [Int64] { try topic.log.offsets().map(\.lowerBound) }
  public func endPositions() throws -> [Int64] { try topic.log.offsets().map(\.upperBound) }

  public func open(_ request: SourceRequest) throws -> TopicReader<Event> {
    try TopicReader(topic, request, policy, skipped)
  }

  public func ensureDurable(_ positions: [Int64]) throws {
    for (partition, end) in try endPositions().enumerated() where positions[partition] > end {
      throw StoreError(
        .io, path: "topic \(name), partition \(partition)",
        detail: "position \(positions[partition]) is beyond the durable end \(end); the log was replaced or damaged")
    }
  }
}

/// Counts records that were left out.
@usableFromInline
final class SkipCounter: Sendable {
  private let count = Atomic<Int>(0)

  @usableFromInline
  init() {}

  @usableFromInline
  func add() { count.wrappingAdd(1, ordering: .relaxed) }

  var value: Int { count.load(ordering: .relaxed) }
}

/// Reads a topic's partitions for one subtask, a log batch at a time, decoding in place from the map.
public final class TopicReader<Event: Sendable>: SourceReader {
  public typealias Element = Event

  private static var bytesPerPoll: Int { 256 << 10 }
  private let coding: EventCoding<Event>
  private let reader: LogReader
  private let listener: LogListener
  private let wantsKeys: Bool
  private let topic: String
  private let policy: UndecodablePolicy
  private let skipped: SkipCounter
  /// Where to stop, per partition; `Int64.max` in an unbounded run.
  private var ends: [Int64]
  private var isRead: [Bool]

  init(_ topic: Topic<Event>, _ request: SourceRequest, _ policy: UndecodablePolicy, _ skipped: SkipCounter) throws {
    coding = topic.coding
    self.topic = topic.name
    self.policy = policy
    self.skipped = skipped
    wantsKeys = request.wantsKeys
    ends = Array(repeating: .max, count: topic.partitions)
    isRead = Array(repeating: false, count: topic.partitions)
    var starts: [Int: Int64] = [:]
    for partition in request.partitions {
      starts[partition.index] = partition.start
      if let end = partition.end { ends[partition.index] = end }
    }
    reader = try topic.log.reader(from: starts)
    let wake = request.wake
    listener = topic.log.onAppend { wake() }
  }

  public func poll(into output: inout SourceBatch<Event>, limit: Int) throws {
    // A log batch is the unit: a poll may deliver some more records than asked for, never fewer batches than one.
    try reader.read(maxBytes: Self.bytesPerPoll) { batch in
      let end = ends[batch.partition]
      let task = DecodingTask(end: end, wantsKeys: wantsKeys, topic: topic, policy: policy, skipped: skipped)
      if batch.firstOffset < end { try coding.decode(batch, task, &output.records) }
      output.advance(partition: batch.partition, to: min(batch.lastOffset + 1, end))
    }
  }

  public var idlePollInterval: Duration { .milliseconds(50) }

  public func close() { listener.cancel() }
}

extension Flow {
  /// The events of `topic`, each with its record's key and time.
  ///
  /// - Parameters:
  ///   - watermarks: how far event time has come, from the records' times, partition by partition.
  ///   - onUndecodable: what becomes of records whose bytes are not of the topic's type.
  public func from<Event: Sendable>(
    _ topic: Topic<Event>, watermarks: WatermarkStrategy = .boundedOutOfOrderness(),
    onUndecodable: UndecodablePolicy = .fail
  ) -> Stream<Event> {
    from(TopicSource(topic: topic, policy: onUndecodable), watermarks: watermarks)
  }
}
