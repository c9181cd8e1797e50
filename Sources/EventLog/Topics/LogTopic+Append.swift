public import Bytes
import Synchronization

// Every way in checks the record's size before anything of it is written, and returns or resumes after the sync of the
// commit that holds it. An accepted record is not taken back when the task that appended it is cancelled.
extension LogTopic {
  /// Appends one record and returns its position when it is durable; many appends share one sync.
  ///
  /// With a key it goes to the key's partition, without one to any, unless `partition` says which.
  ///
  /// - Throws: `recordTooLarge`, `invalidPartition`, `closed`, `topicDeleted`, `readOnly`; `storage`, after which
  ///   nothing of it is in the log and, if `isRetriable`, the next append may succeed; `CancellationError` if it was
  ///   cancelled while waiting for room, before it was accepted.
  @discardableResult
  public func append(
    key: [UInt8]?, value: [UInt8], timestamp: Timestamp, headers: [LogHeader] = [], partition: Int? = nil
  ) async throws -> LogPosition {
    let writer = try requireWriter()
    let encoded = LogHeader.encode(headers)
    while true {
      do {
        return try await withCheckedThrowingContinuation { continuation in
          do {
            let acceptance = try withRecord(key, value, timestamp, encoded, partition) { record in
              try writer.queue.accept(record) { .task(continuation, index: $0) }
            }
            if case .full = acceptance { continuation.resume(throwing: QueueFull()) }
          } catch {
            continuation.resume(throwing: error)
          }
        }
      } catch is QueueFull {
        try await waitForRoom(writer)
      }
    }
  }

  /// Appends records, in their order per partition, and returns their positions when all are durable.
  ///
  /// Not atomic: after an error some of them may be in the log.
  @discardableResult
  public func append(contentsOf records: [NewRecord]) async throws -> [LogPosition] {
    if records.isEmpty { return [] }
    let writer = try requireWriter()
    for record in records { try check(record) }
    return try await withCheckedThrowingContinuation { continuation in
      let group = AppendGroup(count: records.count, .task(continuation))
      enter(records[...], at: 0, group, writer)
    }
  }

  /// As `append(contentsOf:)`, for plain threads.
  @discardableResult
  public func appendBlocking(contentsOf records: [NewRecord]) throws -> [LogPosition] {
    if records.isEmpty { return [] }
    let writer = try requireWriter()
    for record in records { try check(record) }
    let done = BlockingResult<[LogPosition]>()
    enter(records[...], at: 0, AppendGroup(count: records.count, .thread(done)), writer)
    return try done.wait()
  }

  /// As `append`, for plain threads: blocks until it is durable.
  @discardableResult
  public func appendBlocking(
    key: [UInt8]?, value: [UInt8], timestamp: Timestamp, headers: [LogHeader] = [], partition: Int? = nil
  ) throws -> LogPosition {
    let writer = try requireWriter()
    let encoded = LogHeader.encode(headers)
    while true {
      let done = BlockingResult<LogPosition>()
      let acceptance = try withRecord(key, value, timestamp, encoded, partition) { record in
        try writer.queue.accept(record) { .thread(done, index: $0) }
      }
      if case .accepted = acceptance { return try done.wait() }
      try waitForRoomBlocking(writer)
    }
  }

  /// Accepts a record to be written later: durable once a `flush` that begins afterwards returns. Costs about 0.1 µs.
  ///
  /// Returns false, having taken nothing, while `LogOptions.maximumPendingBytes` wait to be written: flush, or try
  /// later. The writer starts by itself when `LogOptions.commitBytes` wait; less waits for a flush, or somebody's
  /// append.
  ///
  /// - Throws: `recordTooLarge`, `invalidPartition`, `closed`, `topicDeleted`, `readOnly`.
  public func enqueue(
    key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer, timestamp: Timestamp, partition: Int? = nil
  ) throws(EventLogError) -> Bool {
    let writer = try requireWriter()
    let keyCount = unsafe key?.count ?? 0
    try checkSize(key: keyCount, total: keyCount + value.count)
    if let partition { try state.check(partition) }
    let target = unsafe partition ?? key.map { unsafe self.partition(forKey: $0) }
    let acceptance = unsafe try writer.queue.enqueue(
      key: key ?? UnsafeRawBufferPointer(start: nil, count: 0), hasKey: key != nil, value: value,
      timestamp: timestamp.microseconds, partition: target)
    return acceptance == .accepted
  }

  /// Returns when everything enqueued before is durable.
  ///
  /// - Throws: `storage` if some of what was enqueued since the last flush could not be written; it is not in the log.
  public func flush() async throws {
    let writer = try requireWriter()
    try await withCheckedThrowingContinuation { writer.queue.flush(.task($0)) }
  }

  /// As `flush`, for plain threads.
  public func flushBlocking() throws {
    let writer = try requireWriter()
    let done = BlockingResult<Void>()
    writer.queue.flush(.thread(done))
    try done.wait()
  }

  /// The fast way in for one plain thread, with batches of its own; see `BatchAppender`.
  ///
  /// A batch is handed over at `recordsPerBatch` records (at most 65,536) or `bytesPerBatch` bytes; the writer starts
  /// when `LogOptions.commitBytes` wait.
  public func makeAppender(recordsPerBatch: Int = 65_536, bytesPerBatch: Int = 128 << 10) throws(EventLogError)
    -> BatchAppender
  {
    let writer = try requireWriter()
    return BatchAppender(
      log, writer, recordsPerBatch: recordsPerBatch, bytesPerBatch: bytesPerBatch,
      commitBytes: state.core.options.commitBytes)
  }

  private struct QueueFull: Error {}

  /// Puts records into the queue one by one; those for which there is no room go on when there is.
  private func enter(_ records: ArraySlice<NewRecord>, at member: Int, _ group: AppendGroup, _ writer: TopicWriter) {
    var member = member
    var rest = records
    while let next = rest.first {
      do {
        let position = member
        let acceptance = try withRecord(
          next.key, next.value, next.timestamp, LogHeader.encode(next.headers), nil
        ) { record in
          try writer.queue.accept(record) { .group(group, member: position, index: $0) }
        }
        if case .full = acceptance {
          let (waiting, position) = (rest, member)
          let room = RoomWaiter { self.enter(waiting, at: position, group, writer) }
          writer.queue.waitForRoom(.callback(room))
          return
        }
      } catch {
        group.finish(member, .failure(error))
      }
      rest = rest.dropFirst()
      member += 1
    }
  }

  private func waitForRoom(_ writer: TopicWriter) async throws {
    try await withCheckedThrowingContinuation { writer.queue.waitForRoom(.task($0)) }
    try Task.checkCancellation()
  }

  private func waitForRoomBlocking(_ writer: TopicWriter) throws {
    let done = BlockingResult<Void>()
    writer.queue.waitForRoom(.thread(done))
    try done.wait()
  }
}

extension LogTopic {
  /// The parts of a record as the queue wants them, checked.
  func makeRecord(
    _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer, _ timestamp: Timestamp, _ headers: [UInt8],
    _ partition: Int?
  ) throws(EventLogError) -> AppendQueue.Record {
    unsafe try checkSize(key: key?.count ?? 0, total: (key?.count ?? 0) + value.count + headers.count)
    if let partition { try state.check(partition) }
    let target = unsafe partition ?? key.map { unsafe self.partition(forKey: $0) }
    return unsafe AppendQueue.Record(
      key: key ?? UnsafeRawBufferPointer(start: nil, count: 0), hasKey: key != nil, value: value,
      timestamp: timestamp.microseconds, headers: headers, partition: target)
  }

  package func checkSize(key: Int, total: Int) throws(EventLogError) {
    if key > RecordFraming.maximumKeyBytes {
      throw .recordTooLarge("a key", size: key, limit: RecordFraming.maximumKeyBytes, topic: name)
    }
    let limit = state.recordLimit.load(ordering: .relaxed)
    if total > limit { throw .recordTooLarge("a record", size: total, limit: limit, topic: name) }
  }

  func check(_ record: NewRecord) throws(EventLogError) {
    let headers = record.headers.reduce(0) { $0 + 8 + $1.name.utf8.count + $1.value.count }
    try checkSize(key: record.key?.count ?? 0, total: (record.key?.count ?? 0) + record.value.count + headers)
  }

  func withRecord<R>(
    _ key: [UInt8]?, _ value: [UInt8], _ timestamp: Timestamp, _ headers: [UInt8], _ partition: Int?,
    _ body: (AppendQueue.Record) throws -> R
  ) throws -> R {
    try unsafe value.withUnsafeBytes { value in
      guard let key else { return try unsafe body(makeRecord(nil, value, timestamp, headers, partition)) }
      return try unsafe key.withUnsafeBytes { key in
        try unsafe body(makeRecord(key, value, timestamp, headers, partition))
      }
    }
  }
}
