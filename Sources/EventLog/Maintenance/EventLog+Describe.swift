public import Bytes
import Synchronization

/// A topic as it is at one moment.
public struct TopicDescription: Sendable, Hashable {
  public struct Partition: Sendable, Hashable {
    public var partition: Int
    /// The oldest offset that can be read, and the next to be written.
    public var startOffset: Int64
    public var endOffset: Int64
  }

  public struct Segment: Sendable, Hashable {
    public var number: UInt64
    public var isSealed: Bool
    public var createdAt: Timestamp
    /// The file's size in bytes; nil if it is missing.
    public var bytes: Int?
    public var path: String
    /// Every partition's first offset in it.
    public var startOffsets: [Int64]
    /// Records in it; nil for the live one.
    public var records: Int64?
    /// Whether it has been compacted: no record in it is older than another of its key, up to the segment's end.
    public var isCompacted: Bool
  }

  public var name: String
  public var id: UInt64
  public var options: TopicOptions
  public var partitions: [Partition]
  public var segments: [Segment]
  /// Records that were acknowledged and are not synced yet, as the topic's durability allows: behind the end offsets.
  /// Known in the process that writes; 0 elsewhere.
  public var unsyncedRecords: Int = 0

  /// Records that can be read: fewer than offsets where compaction removed some.
  public var records: Int64 {
    let sealed = segments.reduce(0) { $0 + ($1.records ?? 0) }
    guard let live = segments.last, !live.isSealed else { return sealed }
    return zip(live.startOffsets, partitions).reduce(sealed) { $0 + max(0, $1.1.endOffset - $1.0) }
  }
  /// Bytes on disk.
  public var bytes: Int { segments.reduce(0) { $0 + ($1.bytes ?? 0) } }
}

extension EventLog {
  /// Every topic with its partitions, offsets and segments, sorted by name.
  public func describe() throws(EventLogError) -> [TopicDescription] {
    var found: [TopicDescription] = []
    for name in try topicNames() { found.append(try topic(name).describe()) }
    return found
  }
}

extension LogTopic {
  /// The topic with its partitions, offsets and segments.
  public func describe() throws(EventLogError) -> TopicDescription {
    let snapshot = try state.snapshot()
    return TopicDescription(
      name: name, id: id, options: options,
      partitions: (0..<partitions).map { partition in
        let range = snapshot.range(partition)
        return TopicDescription.Partition(
          partition: partition, startOffset: range.lowerBound, endOffset: range.upperBound)
      },
      segments: snapshot.segments.map { segment in
        let path = state.path(of: segment.number)
        return TopicDescription.Segment(
          number: segment.number, isSealed: segment.isSealed, createdAt: segment.createdAt,
          bytes: LogFiles.size(path), path: path, startOffsets: segment.starts,
          records: segment.isSealed ? segment.records : nil, isCompacted: segment.isCompacted)
      },
      unsyncedRecords: state.unsynced.load(ordering: .relaxed))
  }
}
