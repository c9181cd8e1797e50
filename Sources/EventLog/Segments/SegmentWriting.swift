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
    var outcomes: [Result<BatchOutcome, EventLogError>] = []
    outcomes.reserveCapacity(batches.count)
    do {
      try environment.write { transaction in
        var rest = batches[...]
        while let first = rest.first {
          let unit = rest.prefix(1 + rest.dropFirst().prefix { unsafe $0.pointer.pointee.continuesUnit }.count)
          rest = rest.dropFirst(unit.count)
          if let refusal = refusal(of: first, unit, topic: topic, now, tail: moved, &producers) {
            outcomes.append(contentsOf: repeatElement(.failure(refusal), count: unit.count))
            continue
          }
          for batch in unit {
            outcomes.append(.success(try write(batch, now, &moved, &producers, in: transaction)))
          }
        }
        try fault?()
      }
    } catch {
      producers.abort()
      throw error
    }
    producers.commit()
    tail = moved
    return outcomes
  }

  /// Writes what is new of one batch that may be written.
  private func write(
    _ batch: BatchHandle, _ now: Timestamp, _ tail: inout SegmentTail, _ producers: inout ProducerTable,
    in transaction: borrowing WriteTransaction
  ) throws -> BatchOutcome {
    let partition = unsafe batch.pointer.pointee.partition
    let first = tail.nextOffsets[partition]
    let known = producers.known(batch)
    let count = unsafe batch.pointer.pointee.count - known.count
    if count > 0 {
      try put(batch, dropping: known.count, now, &tail, in: transaction)
      try stage(batch, at: first, now, &producers, in: transaction)
    }
    // Of an attempt that failed, some may have been dropped before.
    let dropped = unsafe count > 0 ? batch.pointer.pointee.dropped : batch.pointer.pointee.dropped + known.count
    return BatchOutcome(
      partition: partition, firstOffset: first, appended: count, dropped: dropped, repeatedAt: known.offset)
  }

  private func put(
    _ batch: BatchHandle, dropping dropped: Int, _ now: Timestamp, _ tail: inout SegmentTail,
    in transaction: borrowing WriteTransaction
  ) throws {
    if dropped > 0 { unsafe batch.pointer.pointee.dropFirst(dropped) }
    let partition = unsafe batch.pointer.pointee.partition
    let first = tail.nextOffsets[partition]
    var header = unsafe batch.pointer.pointee.header(firstOffset: first)
    header.appendedAt = now.microseconds
    if unsafe batch.pointer.pointee.isStamped { header.stamp(tail.stamp(now)) }
    unsafe batch.pointer.pointee.write(header)
    let stored = unsafe batch.pointer.pointee.stored
    let key = BatchKey(sequence: tail.nextSequence, partition: partition, offset: first)
    try unsafe put(key, header, stored, &tail, in: transaction)
  }

  /// Puts one batch, whole with its header, and its entry in the index if it gets one.
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

  /// Keeps the producer's last sequence in the same transaction as its records.
  private func stage(
    _ batch: BatchHandle, at offset: Int64, _ now: Timestamp, _ producers: inout ProducerTable,
    in transaction: borrowing WriteTransaction
  ) throws {
    guard let producer = unsafe batch.pointer.pointee.producer else { return }
    let key = ProducerTable.Key(partition: unsafe batch.pointer.pointee.partition, producer: producer.id)
    var entry = ProducerTable.Entry(epoch: producer.epoch, lastSequence: -1, lastOffset: -1)
    if let known = producers[key], known.epoch == producer.epoch { entry = known }
    unsafe entry.add(batch.pointer.pointee.sequence, batch.pointer.pointee.count, at: offset)
    entry.usedAt = now.microseconds
    try put(SegmentMeta.producerKey(key), SegmentMeta.producer(entry), in: transaction)
    producers.stage(key, entry)
  }
}
