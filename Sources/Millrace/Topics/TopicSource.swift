import Bytes
public import Dataflow
import EventLog

/// A topic as a job's source: positions are offsets, keys are the records' own, times are theirs.
///
/// Reads only what is durable, so a checkpoint never holds a position that the log could lose.
public struct TopicSource<Event: Sendable>: Source {
  public typealias Element = Event

  let topic: Topic<Event>
  let undecodable: UndecodablePolicy
  let removed: RemovedPolicy

  public var name: String { topic.name }
  public var partitionCount: Int { topic.partitions }

  public func startPositions() throws -> [Int64] { try topic.log.offsets().map(\.lowerBound) }
  public func endPositions() throws -> [Int64] { try topic.log.offsets().map(\.upperBound) }

  public func open(_ request: SourceRequest) throws -> TopicReader<Event> {
    try TopicReader(self, request)
  }

  public func ensureDurable(_ positions: [Int64]) throws {
    for (partition, end) in try endPositions().enumerated() where positions[partition] > end {
      throw StoreError(
        .io, path: "topic \(name), partition \(partition)",
        detail:
          "position \(positions[partition]) is beyond the durable end \(end); the log was replaced or damaged: "
          + "restore log and state from one backup")
    }
  }
}

/// Reads a topic's partitions for one subtask, a log batch at a time, decoding in place from the map.
public final class TopicReader<Event: Sendable>: SourceReader {
  public typealias Element = Event

  private static var bytesPerPoll: Int { 256 << 10 }
  private let coding: EventCoding<Event>
  private let reader: LogReader
  private let listener: LogListener
  private let wantsKeys: Bool
  private let source: TopicSource<Event>
  /// Where to stop, per partition; `Int64.max` in an unbounded run.
  private var ends: [Int64]
  /// Partitions that were moved past what retention removed: from where and to where.
  private var jumps: [(partition: Int, from: Int64, to: Int64)] = []

  init(_ source: TopicSource<Event>, _ request: SourceRequest) throws {
    let topic = source.topic
    coding = topic.coding
    self.source = source
    wantsKeys = request.wantsKeys
    ends = Array(repeating: .max, count: topic.partitions)
    let ranges = source.removed == .skip ? try topic.log.offsets() : []
    var starts: [Int: Int64] = [:]
    for partition in request.partitions {
      var start = partition.start
      if partition.index < ranges.count, start < ranges[partition.index].lowerBound {
        start = ranges[partition.index].lowerBound
        jumps.append((partition.index, partition.start, start))
      }
      starts[partition.index] = start
      if let end = partition.end { ends[partition.index] = end }
    }
    reader = try topic.log.reader(from: starts)
    let wake = request.wake
    listener = topic.log.onAppend { wake() }
  }

  public func poll(into output: inout SourceBatch<Event>, limit: Int) throws {
    do {
      try readSome(into: &output)
    } catch let error as EventLogError where error.code == .offsetOutOfRange && source.removed == .skip {
      try jump(error)
    }
    for jump in jumps {
      output.skip(Int(clamping: min(jump.to, ends[jump.partition]) - jump.from))
      output.advance(partition: jump.partition, to: min(jump.to, ends[jump.partition]))
    }
    jumps = []
  }

  private func readSome(into output: inout SourceBatch<Event>) throws {
    // A log batch is the unit: a poll may deliver some more records than asked for, never fewer batches than one.
    try reader.read(maxBytes: Self.bytesPerPoll) { batch in
      let end = ends[batch.partition]
      if batch.firstOffset < end {
        let task = DecodingTask(end: end, wantsKeys: wantsKeys, topic: source.name, policy: source.undecodable)
        let skipped = try coding.decode(batch, task, &output.records)
        if skipped > 0 { output.skip(skipped) }
      }
      output.advance(partition: batch.partition, to: min(batch.lastOffset + 1, end))
    }
  }

  /// Goes on at the oldest record that retention left of the partition that `error` names.
  private func jump(_ error: EventLogError) throws {
    guard let partition = error.partition, let range = error.validRange, let position = reader.position(partition),
      position < range.lowerBound
    else { throw error }
    try reader.seek(partition: partition, to: range.lowerBound)
    jumps.append((partition, position, range.lowerBound))
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
  ///   - onRemoved: what becomes of records that retention removed before the job read them.
  public func from<Event: Sendable>(
    _ topic: Topic<Event>, watermarks: WatermarkStrategy = .boundedOutOfOrderness(),
    onUndecodable: UndecodablePolicy = .fail, onRemoved: RemovedPolicy = .fail
  ) -> Stream<Event> {
    from(TopicSource(topic: topic, undecodable: onUndecodable, removed: onRemoved), watermarks: watermarks)
  }
}
