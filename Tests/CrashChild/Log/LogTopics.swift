import Bytes
import CrashSupport
import EventLog

extension LogWorkload.Topic {
  /// Small segments, so that they roll, and short memory where it is allowed.
  var options: TopicOptions {
    var options = TopicOptions(partitions: partitions, segmentBytes: 1 << 20, segmentAge: .milliseconds(60))
    if name == "spread" { options.compression = .zstd(level: 1) }
    if isRetained { options.retentionAge = .milliseconds(150) }
    if isCompacted { options.compaction = Compaction(tombstoneDelay: .zero) }
    if mayLoseTail { options.durability = .interval(.milliseconds(20)) }
    return options
  }
}

extension LogWorkload {
  /// As it is appended.
  func newRecord(_ identity: Identity, in topic: Topic) -> NewRecord {
    let record = record(identity, in: topic)
    return NewRecord(
      key: record.key, value: record.value, timestamp: Timestamp(microseconds: record.microseconds),
      headers: record.headers.map { LogHeader($0.name, $0.value) })
  }

  /// Whose record is at `offset`, and whether it is as it was written.
  func judge(_ record: Record, at offset: Int64, in topic: Topic) -> LogContents.Found {
    guard let identity = LogWorkload.identity(of: record) else { return LogContents.Found(offset, nil) }
    return LogContents.Found(offset, identity, isIntact: record == self.record(identity, in: topic))
  }
}

extension LogWorkload.Record {
  init(_ record: LogRecord) {
    self.init(
      key: record.hasKey ? Array(record.key) : nil, value: Array(record.value),
      microseconds: record.timestamp.microseconds, headers: record.headers.map { ($0.name, $0.value) })
  }

  init(_ record: OwnedRecord) {
    self.init(
      key: record.key, value: record.value, microseconds: record.timestamp.microseconds,
      headers: record.headers.map { ($0.name, $0.value) })
  }
}

extension LogContents {
  /// Reads everything that can be read of the topics; what was passed over is in the partitions' damages.
  init(_ log: EventLog, _ workload: LogWorkload, damage: LogReader.DamagePolicy = .refuse) throws {
    self.init()
    let names = Set(try log.topicNames())
    for topic in LogWorkload.topics where names.contains(topic.name) {
      topics[topic.name] = try Self.partitions(of: topic, in: log, workload, damage: damage)
    }
  }

  static func partitions(
    of topic: LogWorkload.Topic, in log: EventLog, _ workload: LogWorkload, damage: LogReader.DamagePolicy
  ) throws -> [Partition] {
    let open = try log.topic(topic.name)
    return try (0..<open.partitions).map { number in
      let range = try open.offsets()[number]
      let reader = try open.reader(partition: number, from: range.lowerBound, damage: damage)
      var partition = Partition(start: range.lowerBound, end: range.upperBound)
      var before = -1 as Int64
      while let position = reader.position(number), position < range.upperBound, position > before {
        before = position
        try reader.read { batch in
          for record in batch {
            partition.records.append(workload.judge(LogWorkload.Record(record), at: record.offset, in: topic))
          }
        }
      }
      partition.damages = reader.skipped.map(\.offsets)
      return partition
    }
  }
}
