public import Bytes

/// The fast way in for one plain thread: encodes records straight into batches of its own and hands over whole
/// batches, without a lock per record.
///
/// Records of a partition keep their order. They are durable when `flush` returns; a batch that was handed over is
/// written by itself within `LogOptions.flushDelay`. They are not at all on the way to the disk before their batch is
/// full or flushed; what was not flushed when the appender ends is dropped. Handing over
/// waits while the topic's queue is full, so keep it off the cooperative pool.
@safe
public struct BatchAppender: ~Copyable {
  // Invariant: `partitions` handles, each owned by this appender until it is submitted.
  @usableFromInline let open: UnsafeMutablePointer<BatchHandle>
  @usableFromInline let partitions: Int
  @usableFromInline let recordLimit: Int
  @usableFromInline let recordsPerBatch: Int
  @usableFromInline let bytesPerBatch: Int
  @usableFromInline var anyPartition = 0
  private let topic: String
  private let log: EventLog
  private let writer: TopicWriter
  private let progress = AppendProgress()
  private let compressor = BatchCompressor()

  init(_ log: EventLog, _ writer: TopicWriter, recordsPerBatch: Int, bytesPerBatch: Int) {
    self.log = log
    self.writer = writer
    self.recordsPerBatch = min(max(recordsPerBatch, 1), OpenBatch.maximumCount)
    self.bytesPerBatch = min(max(bytesPerBatch, 1024), 16 << 20)
    topic = writer.state.name
    partitions = writer.state.partitions
    recordLimit = writer.state.options.maximumRecordBytes
    unsafe open = .allocate(capacity: partitions)
    for partition in 0..<partitions {
      let batch = writer.queue.borrow(partition)
      unsafe (open + partition).initialize(to: batch)
    }
  }

  deinit {
    for partition in 0..<partitions { unsafe writer.queue.giveBack(open[partition]) }
    unsafe open.deallocate()
  }

  /// Appends a record with a key, to the partition of its key's hash.
  ///
  /// - Throws: `recordTooLarge`; `closed`; `topicDeleted`.
  @inlinable
  public mutating func append(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, timestamp: Timestamp
  ) throws(EventLogError) {
    try unsafe checkSize(key, value.count)
    let partition = unsafe partitions == 1 ? 0 : KeyHash(key).partition(of: partitions)
    let batch = unsafe open[partition].pointer
    unsafe batch.pointee.append(key: key, hasKey: true, value: value, timestamp: timestamp.microseconds)
    if unsafe batch.pointee.count >= recordsPerBatch || batch.pointee.byteCount >= bytesPerBatch {
      try submit(partition)
    }
  }

  /// Appends a record with a key, whose value `encode` appends to the batch itself.
  ///
  /// Nothing is appended if `encode` throws.
  @inlinable
  public mutating func append(
    key: UnsafeRawBufferPointer, timestamp: Timestamp, encode: (inout ByteBuffer) throws -> Void
  ) throws {
    try unsafe checkSize(key, 0)
    let partition = unsafe partitions == 1 ? 0 : KeyHash(key).partition(of: partitions)
    let batch = unsafe open[partition].pointer
    let excess = unsafe try batch.pointee.append(
      key: key, hasKey: true, timestamp: timestamp.microseconds, limit: recordLimit, encode: encode)
    if let excess { throw tooLarge(keyCount: key.count, excess) }
    if unsafe batch.pointee.count >= recordsPerBatch || batch.pointee.byteCount >= bytesPerBatch {
      try submit(partition)
    }
  }

  /// Appends a record without a key, to the partition whose batch is being filled.
  @inlinable
  public mutating func append(value: UnsafeRawBufferPointer, timestamp: Timestamp) throws(EventLogError) {
    let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    try unsafe checkSize(none, value.count)
    let partition = anyPartition
    let batch = unsafe open[partition].pointer
    unsafe batch.pointee.append(key: none, hasKey: false, value: value, timestamp: timestamp.microseconds)
    if unsafe batch.pointee.count >= recordsPerBatch || batch.pointee.byteCount >= bytesPerBatch {
      try submit(partition)
      anyPartition = (partition &+ 1) % partitions
    }
  }

  @inlinable
  func checkSize(_ key: UnsafeRawBufferPointer, _ valueCount: Int) throws(EventLogError) {
    if key.count > 65_534 || key.count &+ valueCount > recordLimit {
      throw tooLarge(keyCount: key.count, key.count &+ valueCount)
    }
  }

  @usableFromInline
  func tooLarge(keyCount: Int, _ size: Int) -> EventLogError {
    keyCount > RecordFraming.maximumKeyBytes
      ? .recordTooLarge("a key", size: keyCount, limit: RecordFraming.maximumKeyBytes, topic: topic)
      : .recordTooLarge("a record", size: size, limit: recordLimit, topic: topic)
  }

  /// Hands the partition's batch to the writer and goes on with an empty one; waits while the queue is full.
  @usableFromInline
  mutating func submit(_ partition: Int) throws(EventLogError) {
    let batch = unsafe open[partition]
    unsafe batch.pointer.pointee.progress = progress
    unsafe batch.pointer.pointee.unawaited = unsafe batch.pointer.pointee.count
    unsafe batch.pointer.pointee.prepare(compressor, level: writer.state.compression.level)
    while true {
      if let replacement = try writer.queue.submit(batch) {
        unsafe replacement.pointer.pointee.reset(partition: partition, isStamped: writer.queue.isStamped)
        unsafe open[partition] = replacement
        return
      }
      let room = BlockingResult<Void>()
      writer.queue.waitForRoom(.thread(room))
      do { try room.wait() } catch { throw EventLogError(wrapping: error, "waiting for room failed", topic: topic) }
    }
  }

  private mutating func submitAll() throws(EventLogError) {
    for partition in 0..<partitions where unsafe open[partition].pointer.pointee.count > 0 { try submit(partition) }
    writer.queue.kick()
  }

  /// Returns when everything appended is durable; blocks the calling thread.
  ///
  /// - Throws: if some of it could not be written since the last flush: `storage`, retriable where the disk was full.
  ///   Those records are not in the log.
  public mutating func flushBlocking() throws {
    try submitAll()
    let done = BlockingResult<Void>()
    progress.wait(.thread(done))
    writer.syncJournal()
    try done.wait()
  }

  /// As `flushBlocking`, but suspends (handing over may still block while the queue is full).
  public mutating func flush() async throws {
    try submitAll()
    let progress = progress
    let writer = writer
    try await withCheckedThrowingContinuation { continuation in
      progress.wait(.task(continuation))
      writer.syncJournal()
    }
  }
}
