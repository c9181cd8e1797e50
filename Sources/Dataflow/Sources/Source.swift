import Bytes

/// Where records come from: a name, partitions, and a place in each that a run can go back to.
///
/// Positions are the next to read, per partition, and grow. What was read from a position once must be there again
/// after a crash: the runtime commits no position that `ensureDurable` has not passed.
public protocol Source<Element>: Sendable {
  associatedtype Element: Sendable
  associatedtype Reader: SourceReader where Reader.Element == Element

  /// Unique in the job; positions in the store are found by it.
  var name: String { get }
  /// Never falls. Subtask i of p reads the partitions with index mod p = i.
  var partitionCount: Int { get throws }
  /// Where a job that has no position begins, for each partition.
  func startPositions() throws -> [Int64]
  /// One past the last record there is now, for each partition: where a bounded run ends.
  func endPositions() throws -> [Int64]
  /// A reader for one subtask. A position that cannot be read from is an error, never another position.
  func open(_ request: SourceRequest) throws -> Reader
  /// Returns once everything before `positions` (one per partition) is durable. Called on the state file's writer
  /// thread, before the checkpoint's transaction.
  func ensureDurable(_ positions: [Int64]) throws
}

extension Source {
  public func ensureDurable(_ positions: [Int64]) throws {}
}

/// What a subtask asks of a source.
public struct SourceRequest: Sendable {
  /// A partition to read.
  public struct Partition: Sendable, Hashable {
    public var index: Int
    /// The next position to read.
    public var start: Int64
    /// Where to stop in a bounded run: nothing at or after it may be delivered.
    public var end: Int64?

    public init(index: Int, start: Int64, end: Int64? = nil) {
      self.index = index
      self.start = start
      self.end = end
    }
  }

  public var partitions: [Partition]
  /// Whether the records' own keys must be put into the batches.
  public var wantsKeys: Bool
  /// Call it, from any thread, when there may be records after a poll that found none. Cheap.
  public var wake: @Sendable () -> Void

  public init(partitions: [Partition], wantsKeys: Bool, wake: @escaping @Sendable () -> Void) {
    self.partitions = partitions
    self.wantsKeys = wantsKeys
    self.wake = wake
  }
}

/// Reads partitions for one subtask, on its thread.
public protocol SourceReader: AnyObject {
  associatedtype Element: Sendable
  /// Appends up to `limit` records, without waiting, and tells how far each partition came. Few calls with many
  /// records are what makes a job fast.
  func poll(into output: inout SourceBatch<Element>, limit: Int) throws
  /// Delivers nothing of `partitions` until told otherwise, as they are too far ahead of others in event time. Returns
  /// whether it can do so; if not, the whole reader is not polled while all of its partitions are too far ahead.
  func pause(_ partitions: Set<Int>) -> Bool
  /// How long to wait, at most, before polling again after a poll without records, should nobody call `wake`.
  var idlePollInterval: Duration { get }
  /// The run is over.
  func close()
}

extension SourceReader {
  public var idlePollInterval: Duration { .milliseconds(5) }
  public func pause(_ partitions: Set<Int>) -> Bool { partitions.isEmpty }
  public func close() {}
}

/// What a poll delivers: records, and how far each partition came.
public struct SourceBatch<Element: Sendable>: ~Copyable {
  /// The records' place; append here, with keys if they are wanted.
  public var records: Batch<Element>
  /// How far a partition came, and the latest timestamp among its new records.
  struct Advance {
    let partition: Int
    let position: Int64
    let latest: Timestamp?
    /// Its records' places in the batch.
    let range: Range<Int>
  }
  var advances: [Advance] = []
  private(set) var skipped = 0
  private var described = 0

  /// An empty one with room for `capacity` records.
  public init(capacity: Int) { records = Batch(capacity: capacity) }

  /// Everything appended since the last call came from `partition`, whose next position to read is now `position`.
  /// Call it also where positions were passed over without a record.
  public mutating func advance(partition: Int, to position: Int64) {
    advances.append(
      Advance(
        partition: partition, position: position, latest: records.latestTimestamp(from: described),
        range: described..<records.count))
    described = records.count
  }

  /// Counts records that were left out, as the source's policy has it; shown in the source's metrics.
  public mutating func skip(_ count: Int) { skipped += count }

  consuming func takeRecords() -> Batch<Element> { records }
}
