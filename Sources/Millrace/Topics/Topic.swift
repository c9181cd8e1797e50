public import Bytes
public import EventLog
import Records

/// A topic of a store whose records are events of one type: durable, ordered per key, to be read again and again.
///
/// A value, cheap to pass around; any thread or task may use it. The log underneath is `log`.
public struct Topic<Event: Sendable>: Sendable {
  /// The topic as the log has it: raw records, offsets, readers.
  public let log: LogTopic
  @usableFromInline let coding: EventCoding<Event>
  /// Keeps the store open while its topics are in use.
  let store: Store

  @usableFromInline
  init(_ store: Store, _ log: LogTopic, _ coding: EventCoding<Event>) {
    self.log = log
    self.coding = coding
    self.store = store
  }

  public var name: String { log.name }
  public var partitions: Int { log.partitions }
}

extension Topic {
  /// Appends `event` to the partition of its key and returns its position when it is durable. Many appends share one
  /// sync.
  ///
  /// Once accepted it is not taken back, whatever becomes of the task.
  ///
  /// - Throws: `EventLogError`, `RecordsError` for a value beyond the format's limits.
  @discardableResult
  public func append(_ event: Event) async throws -> LogPosition {
    let record = try encoded(event)
    return try await log.append(key: record.key, value: record.value, timestamp: record.timestamp)
  }

  /// Appends `events` as a whole, in their order per partition, and returns their positions when all are durable.
  ///
  /// All or nothing, over all partitions: when it throws, none of them is in the log, and no reader ever sees some
  /// without the others. At most 32 MiB, see `LogTopic.append(contentsOf:)`.
  @discardableResult
  public func append(contentsOf events: [Event]) async throws -> [LogPosition] {
    try await log.append(contentsOf: try events.map(encoded))
  }

  /// Appends `event` if its partition ends at `offset`: nothing came in since the caller read up to there.
  ///
  /// - Throws: `EventLogError.unexpectedOffset` with the `actualOffset`, and nothing is written; else as `append`.
  @discardableResult
  public func append(_ event: Event, expecting offset: Int64) async throws -> LogPosition {
    let record = try encoded(event)
    return try await log.append(
      key: record.key, value: record.value, timestamp: record.timestamp, expecting: offset)
  }

  /// Appends `events` as a whole, all to one partition, if that ends at `offset`.
  ///
  /// - Throws: `EventLogError.unexpectedOffset`, as above; `invalidPartition` if their keys belong to several
  ///   partitions.
  @discardableResult
  public func append(contentsOf events: [Event], expecting offset: Int64) async throws -> [LogPosition] {
    try await log.append(contentsOf: try events.map(encoded), expecting: offset)
  }

  /// Takes `event` to be written later: durable once a `flush` that begins afterwards returns, and without one it is
  /// written by itself after `LogOptions.flushDelay`.
  ///
  /// Suspends only while the log's bound of waiting bytes is reached. What could not be written is told by a flush.
  public func enqueue(_ event: Event) async throws {
    let record = try encoded(event)
    while try !offer(record) { try await log.waitForRoom() }
  }

  private func offer(_ record: NewRecord) throws -> Bool {
    try unsafe record.value.withUnsafeBytes { value in
      try unsafe (record.key ?? []).withUnsafeBytes { key in
        try unsafe log.enqueue(key: key, value: value, timestamp: record.timestamp)
      }
    }
  }

  /// Returns when everything enqueued before is durable.
  ///
  /// - Throws: `EventLogError.storage` if some of what was enqueued since the last flush could not be written.
  public func flush() async throws { try await log.flush() }

  /// As `append(contentsOf:)`, for plain threads: blocks until durable.
  @discardableResult
  public func appendBlocking(contentsOf events: [Event]) throws -> [LogPosition] {
    try log.appendBlocking(contentsOf: try events.map(encoded))
  }

  /// The event as the log takes it.
  public func encoded(_ event: Event) throws -> NewRecord {
    var key = ByteBuffer(capacity: 32)
    coding.encodeKey(event, &key)
    var value = ByteBuffer(capacity: 128)
    try coding.encode(event, &value)
    return NewRecord(key: key.array, value: value.array, timestamp: coding.timestamp?(event) ?? store.options.clock())
  }
}

extension Topic {
  /// The fast way in for one plain thread: encodes straight into the open batches, without an allocation per event.
  public func makeAppender(recordsPerBatch: Int = 65_536, bytesPerBatch: Int = 128 << 10) throws -> EventAppender<Event>
  {
    EventAppender(
      appender: try log.makeAppender(recordsPerBatch: recordsPerBatch, bytesPerBatch: bytesPerBatch), coding: coding,
      store: store)
  }
}

/// Appends events of one topic from one plain thread. What it took is durable when `flushBlocking` returns.
public struct EventAppender<Event: Sendable>: ~Copyable {
  @usableFromInline var appender: BatchAppender
  @usableFromInline let coding: EventCoding<Event>
  @usableFromInline let clock: @Sendable () -> Timestamp
  /// Keeps the store open.
  private let store: Store
  @usableFromInline var key = ByteBuffer(capacity: 64)

  init(appender: consuming BatchAppender, coding: EventCoding<Event>, store: Store) {
    self.appender = appender
    self.coding = coding
    self.store = store
    clock = store.options.clock
  }

  /// Takes `event`; blocks only while the log's bound of waiting bytes is reached.
  @inlinable
  public mutating func append(_ event: Event) throws {
    key.removeAll()
    coding.encodeKey(event, &key)
    let timestamp = coding.timestamp?(event) ?? clock()
    let encode = coding.encode
    try unsafe appender.append(key: key.bytes, timestamp: timestamp) { buffer in try encode(event, &buffer) }
  }

  /// Returns when everything taken is durable; blocks the calling thread.
  public mutating func flushBlocking() throws { try appender.flushBlocking() }

  /// As `flushBlocking`, suspending.
  public mutating func flush() async throws { try await appender.flush() }
}
