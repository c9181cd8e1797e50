public import Bytes
import Synchronization

/// A topic of an open log: append to it and read from it, from any thread or task.
public final class LogTopic: Sendable {
  /// Keeps the log open as long as anybody holds one of its topics.
  let log: EventLog
  let state: TopicState
  /// Nil in a log opened for reading.
  let writer: TopicWriter?

  init(_ log: EventLog, _ open: OpenTopic) {
    self.log = log
    state = open.state
    writer = open.writer
  }

  public var name: String { state.name }
  /// Unique in the log, never used again.
  public var id: UInt64 { state.id }
  public var partitions: Int { state.partitions }
  public var options: TopicOptions { state.options }
  /// What opening the topic found in its journal: records that had been acknowledged before they were synced. Nil if
  /// there was none, as after an orderly end and in topics whose appends are synced.
  public var recovery: JournalRecovery? { state.recovery.withLock { $0 } }

  /// The partition of every record with this key: the high 64 bits of XXH64(key) × partitions.
  @inlinable
  public func partition(forKey key: UnsafeRawBufferPointer) -> Int { unsafe KeyHash(key).partition(of: partitions) }

  func requireWriter() throws(EventLogError) -> TopicWriter {
    guard let writer else {
      throw EventLogError(.readOnly, "the log was opened for reading; append in the process that writes", topic: name)
    }
    return writer
  }
}

/// A topic that an open log knows.
struct OpenTopic: Sendable {
  let state: TopicState
  let writer: TopicWriter?
}

extension TopicState {
  func check(_ partition: Int) throws(EventLogError) {
    if partition < 0 || partition >= partitions {
      throw EventLogError(
        .invalidPartition, "the topic has partitions 0..<\(partitions), not \(partition)", topic: name)
    }
  }
}
