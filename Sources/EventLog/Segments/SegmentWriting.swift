import Bytes
import LMDB

extension SegmentFile {
  /// Writes `batches` in one synced transaction, in their order, and moves `tail` behind them.
  ///
  /// Units whose expectations do not hold, and idempotent ones that leave a gap or are fenced, are left out with their
  /// outcome, as are repeats; the others do not suffer. If this throws, nothing was written, and `tail` and `producers`
  /// are as before. `fault` may fail it when everything is written but not committed.
  func write(
    _ batches: [BatchHandle], topic: String, now: Timestamp, tail: inout SegmentTail, producers: inout ProducerTable,
    fault: (() throws -> Void)? = nil
  ) throws -> [Result<BatchOutcome, EventLogError>] {
    var moved = tail
    do {
      let outcomes = try environment.write { transaction in
        let outcomes = try unsafe place(batches, topic: topic, now: now, tail: &moved, producers: &producers) {
          key, header, stored, tail in
          try unsafe put(key, header, stored, &tail, in: transaction)
        }
        try put(producers.staged, in: transaction)
        try fault?()
        return outcomes
      }
      producers.commit()
      tail = moved
      return outcomes
    } catch {
      producers.abort()
      throw error
    }
  }

  /// Writes the batches of whole `frames` of a journal, which go on at `tail`, and what `producers` has of them, in one
  /// synced transaction. If this throws, nothing was written.
  func write(_ frames: UnsafeRawBufferPointer, tail: inout SegmentTail, producers: inout ProducerTable) throws {
    var moved = tail
    try environment.write { transaction in
      var position = 0
      while let frame = unsafe JournalFrame(frames, at: position) {
        unsafe try frame.forEachBatch(frames, at: position) { header, stored in
          let key = BatchKey(sequence: moved.nextSequence, partition: header.partition, offset: header.firstOffset)
          try unsafe put(key, header, stored, &moved, in: transaction)
          return true
        }
        position += JournalFrame.size + frame.bytes
      }
      try put(producers.journaled, in: transaction)
    }
    producers.commit()
    tail = moved
  }

  /// Decides over `batches` and gives those that are written to `store`, with their place behind `tail`, which `store`
  /// moves on.
  func place(
    _ batches: [BatchHandle], topic: String, now: Timestamp, tail: inout SegmentTail, producers: inout ProducerTable,
    _ store: (BatchKey, BatchHeader, UnsafeRawBufferPointer, inout SegmentTail) throws -> Void
  ) throws -> [Result<BatchOutcome, EventLogError>] {
    var outcomes: [Result<BatchOutcome, EventLogError>] = []
    outcomes.reserveCapacity(batches.count)
    var rest = batches[...]
    while let first = rest.first {
      let unit = rest.prefix(1 + rest.dropFirst().prefix { unsafe $0.pointer.pointee.continuesUnit }.count)
      rest = rest.dropFirst(unit.count)
      if let refusal = refusal(of: first, unit, topic: topic, now, tail: tail, &producers) {
        outcomes.append(contentsOf: repeatElement(.failure(refusal), count: unit.count))
        continue
      }
      for batch in unit { outcomes.append(.success(unsafe try place(batch, now, &tail, &producers, store))) }
    }
    return outcomes
  }

  /// Gives what is new of one batch that may be written to `store`.
  private func place(
    _ batch: BatchHandle, _ now: Timestamp, _ tail: inout SegmentTail, _ producers: inout ProducerTable,
    _ store: (BatchKey, BatchHeader, UnsafeRawBufferPointer, inout SegmentTail) throws -> Void
  ) throws -> BatchOutcome {
    let partition = unsafe batch.pointer.pointee.partition
    let first = tail.nextOffsets[partition]
    let known = producers.known(batch)
    let count = unsafe batch.pointer.pointee.count - known.count
    if count > 0 {
      if known.count > 0 { unsafe batch.pointer.pointee.dropFirst(known.count) }
      var header = unsafe batch.pointer.pointee.header(firstOffset: first)
      header.appendedAt = now.microseconds
      if unsafe batch.pointer.pointee.isStamped { header.stamp(tail.stamp(now)) }
      unsafe batch.pointer.pointee.write(header)
      let key = BatchKey(sequence: tail.nextSequence, partition: partition, offset: first)
      unsafe try store(key, header, batch.pointer.pointee.stored, &tail)
      if let producer = unsafe batch.pointer.pointee.producer {
        producers.stage(
          producer, partition, unsafe batch.pointer.pointee.sequence, count, at: first, now.microseconds)
      }
    }
    // Of an attempt that failed, some may have been dropped before.
    let dropped = unsafe count > 0 ? batch.pointer.pointee.dropped : batch.pointer.pointee.dropped + known.count
    return BatchOutcome(
      partition: partition, firstOffset: first, appended: count, dropped: dropped, repeatedAt: known.offset)
  }

  /// Puts one batch, as it is stored, and its entry in the index if it is due, and moves `tail` behind it.
  func put(
    _ key: BatchKey, _ header: BatchHeader, _ stored: UnsafeRawBufferPointer, _ tail: inout SegmentTail,
    in transaction: borrowing WriteTransaction
  ) throws {
    unsafe try key.withBytes { bytes in
      let place = unsafe try transaction.reserve(batches, key: bytes, count: stored.count, .append)
      unsafe place.copyMemory(from: stored)
    }
    if tail.needsIndexEntry(key.partition) {
      let entry = IndexEntry(
        partition: key.partition, offset: key.offset, sequence: key.sequence,
        maximumTimestampBefore: tail.maximumTimestamps[key.partition])
      try unsafe entry.key.withUnsafeBytes { key in
        try unsafe entry.value.withUnsafeBytes { unsafe try transaction.put(index, key: key, value: $0) }
      }
      tail.bytesSinceIndex[key.partition] = 0
      tail.indexedAt[key.partition] = key.sequence
    }
    tail.add(key, header, bytes: stored.count)
  }

  /// Keeps the producers' last sequences in the same transaction as their records.
  private func put(
    _ entries: [ProducerTable.Key: ProducerTable.Entry], in transaction: borrowing WriteTransaction
  ) throws {
    for (key, entry) in entries {
      try put(SegmentMeta.producerKey(key), SegmentMeta.producer(entry), in: transaction)
    }
  }
}
