import Bytes

extension LogTopic {
  /// Appends `records` to `partition` so that a repeat has no effect: the records are numbered from `sequence` on by
  /// their producer, per partition, and those that are in the log already are dropped.
  ///
  /// The first number of a producer, and of each of its epochs, is 0. Last numbers outlive restarts, rolls and
  /// retention; only beyond `LogOptions.maximumProducers` those of idle producers are forgotten. Repeats come with
  /// their original positions while these are known. All records go into one batch, wholly or not at all; at most
  /// 65,536 of them and 17 MiB (the greatest record fits), where each counts 24 bytes besides its key, value and
  /// headers.
  ///
  /// - Throws: `sequenceGap` with the number that was due; `fenced` once a newer epoch of this producer has appended,
  ///   or was opened by its name; `tooManyProducers`; as `append`.
  public func appendIdempotent(
    _ records: [NewRecord], partition: Int, producer: ProducerID, sequence: Int64
  ) async throws -> IdempotentResult {
    let writer = try requireWriter()
    let batch = try makeBatch(records, partition, producer, sequence)
    return try await withCheckedThrowingContinuation { submit(batch, .task($0), writer) }
  }

  /// As `appendIdempotent`, for plain threads.
  public func appendIdempotentBlocking(
    _ records: [NewRecord], partition: Int, producer: ProducerID, sequence: Int64
  ) throws -> IdempotentResult {
    let writer = try requireWriter()
    let batch = try makeBatch(records, partition, producer, sequence)
    let done = BlockingResult<IdempotentResult>()
    submit(batch, .thread(done), writer)
    return try done.wait()
  }

  /// As `appendIdempotent`, for plain threads that have several under way: begins it; what is returned is waited for,
  /// and is synced then, whatever the topic's durability: somebody may forget the records because of it.
  package func beginIdempotent(
    _ records: [NewRecord], partition: Int, producer: ProducerID, sequence: Int64
  ) throws -> PendingAppend {
    let writer = try requireWriter()
    let batch = try makeBatch(records, partition, producer, sequence)
    unsafe batch.pointer.pointee.mustSync = true
    let done = BlockingResult<IdempotentResult>()
    submit(batch, .thread(done), writer)
    return PendingAppend(done: done)
  }

  private func makeBatch(
    _ records: [NewRecord], _ partition: Int, _ producer: ProducerID, _ sequence: Int64
  ) throws(EventLogError) -> BatchHandle {
    try state.check(partition)
    var bytes = 0
    for record in records { bytes += try check(record) + 24 }
    if records.isEmpty || records.count > OpenBatch.maximumCount || bytes > ProducerLane.maximumBytes || sequence < 0 {
      throw EventLogError(
        .recordTooLarge,
        "an idempotent append has 1 to \(OpenBatch.maximumCount) records, at most 17 MiB, and a sequence from 0 on; "
          + "this one has \(records.count) records, \(bytes) bytes, sequence \(sequence)", topic: name,
        partition: partition)
    }
    let batch = BatchHandle.make()
    unsafe batch.pointer.pointee.reset(partition: partition, isStamped: writer?.queue.isStamped ?? false)
    for record in records {
      let headers = LogHeader.encode(record.headers)
      unsafe record.value.withUnsafeBytes { value in
        unsafe (record.key ?? []).withUnsafeBytes { key in
          unsafe batch.pointer.pointee.append(
            key: key, hasKey: record.key != nil, value: value, timestamp: record.timestamp.microseconds,
            headers: headers)
        }
      }
    }
    unsafe batch.pointer.pointee.producer = producer
    unsafe batch.pointer.pointee.sequence = sequence
    return batch
  }

  private func submit(_ batch: BatchHandle, _ waiter: AnyWaiter<IdempotentResult>, _ writer: TopicWriter) {
    unsafe batch.pointer.pointee.waiters = [.idempotent(waiter)]
    do {
      if let empty = try writer.queue.submit(batch) { return writer.queue.giveBack(empty) }
    } catch {
      batch.free()
      return waiter.resume(.failure(error))
    }
    let room = RoomWaiter { self.submit(batch, waiter, writer) }
    writer.queue.waitForRoom(.callback(room))
  }
}

/// An append under way.
package struct PendingAppend: Sendable {
  let done: BlockingResult<IdempotentResult>

  /// Blocks until it is durable. Once.
  package func wait() throws -> IdempotentResult { try done.wait() }
}
