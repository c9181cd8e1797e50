public import Bytes

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

  /// The fast way in for one plain thread, with batches of its own; see `BatchAppender`.
  ///
  /// A batch is handed over at `recordsPerBatch` records (at most 65,536) or `bytesPerBatch` bytes; the writer starts
  /// when `LogOptions.commitBytes` wait, or after `LogOptions.flushDelay`.
  public func makeAppender(recordsPerBatch: Int = 65_536, bytesPerBatch: Int = 128 << 10) throws(EventLogError)
    -> BatchAppender
  {
    let writer = try requireWriter()
    return BatchAppender(
      log, writer, recordsPerBatch: recordsPerBatch, bytesPerBatch: bytesPerBatch)
  }

  /// Suspends until there may be room again after `enqueue` returned false, or throws when the task is cancelled.
  package func waitForRoom() async throws { try await waitForRoom(requireWriter()) }

  /// Suspends until there may be room again, or throws when the task is cancelled.
  func waitForRoom(_ writer: TopicWriter) async throws {
    let queue = writer.queue
    let registration = WaitRegistration { queue.cancelRoom($0) }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { registration.begin(queue.waitForRoom(.task($0))) }
    } onCancel: {
      registration.cancel()
    }
    try Task.checkCancellation()
  }

  func waitForRoomBlocking(_ writer: TopicWriter) throws {
    let done = BlockingResult<Void>()
    writer.queue.waitForRoom(.thread(done))
    try done.wait()
  }
}

/// There was no room in the queue: to be tried again when there is.
struct QueueFull: Error {}
