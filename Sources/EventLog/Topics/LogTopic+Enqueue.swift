public import Bytes

// The ways in that do not wait for the disk. What they accepted is written by itself within `LogOptions.flushDelay`, or
// when `LogOptions.commitBytes` wait; when, `flush` tells.
extension LogTopic {
  /// Appends one record without waiting for the disk: returns when it was accepted, in order behind what was accepted
  /// before.
  ///
  /// Suspends while `LogOptions.maximumPendingBytes` wait to be written. It is durable once a `flush` that begins
  /// afterwards returns; if it cannot be written, that flush throws, or the next one.
  ///
  /// - Throws: `recordTooLarge`, `invalidPartition`, `closed`, `topicDeleted`, `readOnly`; `CancellationError` if it
  ///   was cancelled while waiting for room. Nothing was accepted then.
  public func send(
    key: [UInt8]?, value: [UInt8], timestamp: Timestamp, headers: [LogHeader] = [], partition: Int? = nil
  ) async throws {
    let writer = try requireWriter()
    let encoded = LogHeader.encode(headers)
    while try withRecord(key, value, timestamp, encoded, partition, { try writer.queue.accept($0) }) == .full {
      try await waitForRoom(writer)
    }
  }

  /// Accepts a record to be written later: durable once a `flush` that begins afterwards returns. Costs about 0.1 µs.
  ///
  /// Returns false, having taken nothing, while `LogOptions.maximumPendingBytes` wait to be written: flush, or try
  /// later.
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
    try await withCheckedThrowingContinuation { writer.flush(.task($0)) }
    // What was awaited and acknowledged before its sync is flushed, too.
    if state.hasUnsynced {
      try await withCheckedThrowingContinuation { continuation in
        writer.run(.task(continuation)) { try $0.commitJournal() }
      }
    }
  }

  /// As `flush`, for plain threads.
  public func flushBlocking() throws {
    let writer = try requireWriter()
    let done = BlockingResult<Void>()
    writer.flush(.thread(done))
    try done.wait()
    if state.hasUnsynced { try writer.commitJournalBlocking() }
  }
}
