import LMDB

/// The records of a topic's partitions as an asynchronous sequence, copied out of the log.
///
/// Each iteration reads on its own from the same offsets. It ends with the log's end as of its creation, or tails:
/// then it waits for more until its task is cancelled. Reading happens on a thread of the log, a batch at a time, never
/// on the cooperative pool.
public struct RecordSequence: AsyncSequence, Sendable {
  public typealias Element = OwnedRecord
  public typealias Failure = any Error

  let log: EventLog
  let state: TopicState
  let offsets: [Int: Int64]
  let isTailing: Bool
  let damage: LogReader.DamagePolicy

  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let source: RecordSequence
    private var feed: Feed?
    private var records: [OwnedRecord] = []
    private var nextIndex = 0

    init(_ source: RecordSequence) { self.source = source }

    /// The next record; nil at the end, or once the task is cancelled.
    ///
    /// - Throws: as `LogReader.read`.
    public mutating func next() async throws -> OwnedRecord? {
      while nextIndex == records.count {
        if Task.isCancelled { return nil }
        if feed == nil { feed = try await Feed.make(source) }
        guard let feed else { return nil }
        records = try await feed.more()
        nextIndex = 0
        if records.isEmpty {
          if !source.isTailing { return nil }
          do { try await feed.waitForNews() } catch is CancellationError { return nil }
        }
      }
      defer { nextIndex += 1 }
      return records[nextIndex]
    }
  }
}

/// A reader handed back and forth between an iterator and the log's reader thread.
// Invariant of `@unchecked Sendable`: one iterator owns it and awaits each call, so the reader is used by one thread at
// a time.
private final class Feed: @unchecked Sendable {
  private static let bytesPerRead = 256 << 10
  private let reader: LogReader
  /// Where a sequence that does not tail ends.
  private let ends: [Int64]?

  private init(_ source: RecordSequence) throws {
    reader = try LogReader(source.state, offsets: source.offsets, damage: source.damage)
    ends = source.isTailing ? nil : try source.state.snapshot().ends
  }

  static func make(_ source: RecordSequence) async throws -> Feed {
    try await withCheckedThrowingContinuation { continuation in
      source.state.core.onReaderThread { continuation.resume(with: Result { try Feed(source) }) }
    }
  }

  func more() async throws -> [OwnedRecord] {
    try await withCheckedThrowingContinuation { continuation in
      reader.state.core.onReaderThread { continuation.resume(with: Result { try self.read() }) }
    }
  }

  private func read() throws -> [OwnedRecord] {
    var records: [OwnedRecord] = []
    var isMore = true
    while records.isEmpty && isMore {
      isMore =
        try reader.scan(maxBytes: Self.bytesPerRead) { batch in
          for record in batch where ends.map({ record.offset < $0[batch.partition] }) ?? true {
            records.append(OwnedRecord(copying: record, partition: batch.partition))
          }
          return true
        } > 0
    }
    return records
  }

  func waitForNews() async throws { try await reader.waitForNews() }
}
