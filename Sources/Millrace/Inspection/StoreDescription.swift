public import Bytes

/// What a store holds at one moment, as plain values: for tools, logs and JSON. Made by `Store.describe`.
///
/// Views and jobs are of one checkpoint; the topics are as they were just after it, so a job's lag is never negative.
/// Times are in microseconds since 1970 when encoded.
public struct StoreDescription: Codable, Hashable, Sendable {
  /// The store's folder.
  public var path: String
  /// The number of the last checkpoint, over all jobs; 0 if there is none.
  public var checkpoint: UInt64
  public var stateFile: StateFile
  /// Sorted by name, as jobs and views are.
  public var topics: [Topic]
  public var jobs: [Job]
  public var views: [View]

  /// Everything in the description that could not be read, in words; empty if all could.
  public var problems: [String] {
    topics.flatMap { topic in topic.problems.map { "topic \(topic.name): \($0)" } }
      + jobs.flatMap { job in job.states.compactMap { state in state.problem.map { "job \(job.name): \($0)" } } }
      + views.compactMap { view in view.problem.map { "view \(view.name): \($0)" } }
  }
}

extension StoreDescription {
  /// The file of state and views.
  public struct StateFile: Codable, Hashable, Sendable {
    /// Bytes up to the last page ever used; free pages within are used again.
    public var bytes: Int
    /// The size limit in bytes, as the writer set it.
    public var mapLimit: Int
    /// The number of the last commit.
    public var transaction: Int
    /// The open snapshots of every process, oldest first.
    public var readers: [Reader]
    /// For how many milliseconds the oldest snapshot of this process has been open; nil if none is. Those of other
    /// processes tell no age, only the commit that they see.
    public var oldestOwnReaderAge: Int?
  }

  /// An open snapshot: the pages that it sees cannot be used again.
  public struct Reader: Codable, Hashable, Sendable {
    public var processID: Int32
    /// How many commits were made since.
    public var commitsBehind: Int

    public init(processID: Int32, commitsBehind: Int) {
      self.processID = processID
      self.commitsBehind = commitsBehind
    }
  }

  public struct Topic: Codable, Hashable, Sendable {
    public var name: String
    public var id: UInt64
    public var partitions: [Partition]
    public var segments: [Segment]
    /// Bytes on disk.
    public var bytes: Int
    /// Records that can be read.
    public var records: Int64
    /// With which schemas values were written, oldest first, as `record(product: String, bid: Double)`. Empty for raw
    /// bytes.
    public var schemas: [String]
    /// What of it cannot be read.
    public var problems: [String]
  }

  public struct Partition: Codable, Hashable, Sendable {
    public var partition: Int
    /// The oldest offset that can be read, and the next to be written.
    public var startOffset: Int64
    public var endOffset: Int64
  }

  public struct Segment: Codable, Hashable, Sendable {
    public var number: UInt64
    public var isSealed: Bool
    public var createdAt: Timestamp
    /// The file's size in bytes; nil if it is missing.
    public var bytes: Int?
    public var path: String
  }

  public struct Job: Codable, Hashable, Sendable {
    public var name: String
    public var incarnation: UInt64
    /// "running" (or ended without its last checkpoint), "stopped" or "drained".
    public var status: String
    public var epoch: UInt64
    /// The store-wide number of its last checkpoint; 0 if it has none.
    public var checkpoint: UInt64
    /// When that was committed; nil if it has none.
    public var checkpointAt: Timestamp?
    public var parallelism: Int
    /// By name.
    public var sources: [Source]
    /// Event time per operator, by name; nil where nothing is known yet.
    public var watermarks: [Watermark]
    public var states: [State]
  }

  /// Where a job stands in one of its sources.
  public struct Source: Codable, Hashable, Sendable {
    public var name: String
    public var partitions: [SourcePartition]
    /// Records of all partitions that are not in the checkpoint yet; nil if the source is no topic of this store.
    public var lag: Int64?
  }

  public struct SourcePartition: Codable, Hashable, Sendable {
    public var partition: Int
    /// The next position to be read.
    public var position: Int64
    public var watermark: Timestamp?
    public var isIdle: Bool
    public var lag: Int64?
  }

  public struct Watermark: Codable, Hashable, Sendable {
    public var name: String
    public var time: Timestamp?
  }

  public struct State: Codable, Hashable, Sendable {
    public var name: String
    public var kind: String
    /// Entries at most: those that wait for merging may count twice, or be deletions.
    public var approximateEntries: Int
    public var bytes: Int
    public var runs: Int
    public var problem: String?
  }

  public struct View: Codable, Hashable, Sendable {
    public var name: String
    public var columns: [Column]
    public var indexes: [Index]
    public var families: [Family]
    /// Nil if it was not counted, or cannot be.
    public var rows: Int?
    /// Bytes of rows and indexes.
    public var bytes: Int
    public var problem: String?
  }

  public struct Column: Codable, Hashable, Sendable {
    public var name: String
    public var type: String
    public var isOptional: Bool
    public var isKey: Bool
  }

  public struct Index: Codable, Hashable, Sendable {
    public var name: String
    public var columns: [String]
  }

  /// Columns that are stored together.
  public struct Family: Codable, Hashable, Sendable {
    public var id: UInt16
    public var columns: [String]
  }
}
