import Bytes
import LMDB

extension SegmentFile {
  /// Writes `batches` in one synced transaction, in their order, and moves `tail` behind them.
  ///
  /// Idempotent batches that are repeats, leave a gap or are fenced are left out with their outcome; the others do not
  /// suffer. If this throws, nothing was written, and `tail` and `producers` are as before.
  func write(
    _ batches: [BatchHandle], topic: String, now: Timestamp, tail: inout SegmentTail, producers: inout ProducerTable
  ) throws -> [Result<BatchOutcome, EventLogError>] {
    var moved = tail
    var outcomes: [Result<BatchOutcome, EventLogError>] = []
    outcomes.reserveCapacity(batches.count)
    do {
      try environment.write { transaction in
        for batch in batches {
          let partition = unsafe batch.pointer.pointee.partition
          let (dropped, refusal) = decide(batch, topic: topic, tail: moved, producers: producers)
          if let refusal {
            outcomes.append(refusal)
            continue
          }
          let first = moved.nextOffsets[partition]
          let count = unsafe batch.pointer.pointee.count - dropped
          try put(batch, dropping: dropped, now, &moved, in: transaction)
          try stage(batch, lastOffset: first + Int64(count) - 1, &producers, in: transaction)
          outcomes.append(
            .success(BatchOutcome(partition: partition, firstOffset: first, appended: count, dropped: dropped)))
        }
      }
    } catch {
      producers.abort()
      throw error
    }
    producers.commit()
    tail = moved
    return outcomes
  }

  /// How many records at the front are repeats; or, if nothing is to be written, the outcome.
  private func decide(
    _ batch: BatchHandle, topic: String, tail: SegmentTail, producers: ProducerTable
  ) -> (dropped: Int, Result<BatchOutcome, EventLogError>?) {
    guard let producer = unsafe batch.pointer.pointee.producer else { return (0, nil) }
    let partition = unsafe batch.pointer.pointee.partition
    let sequence = unsafe batch.pointer.pointee.sequence
    let count = unsafe batch.pointer.pointee.count
    let key = ProducerTable.Key(partition: partition, producer: producer.id)
    switch producers.decide(key, epoch: producer.epoch, sequence: sequence, count: count) {
    case .append(let dropping): return (dropping, nil)
    case .repeated:
      let end = tail.nextOffsets[partition]
      return (count, .success(BatchOutcome(partition: partition, firstOffset: end, appended: 0, dropped: count)))
    case .gap(let expected):
      var error = EventLogError(
        .sequenceGap, "producer \(producer.id) sent sequence \(sequence) where \(expected) was due; send that first",
        topic: topic, partition: partition)
      error.expectedSequence = expected
      return (0, .failure(error))
    case .fenced(let epoch):
      return (
        0,
        .failure(
          EventLogError(
            .fenced, "producer \(producer.id) of epoch \(producer.epoch) was replaced by epoch \(epoch); stop it",
            topic: topic, partition: partition))
      )
    }
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
    let checksum = unsafe batch.pointer.pointee.recordsChecksum
    unsafe header.write(to: batch.pointer.pointee.buffer.mutableBytes, recordsChecksum: checksum)
    let key = BatchKey(sequence: tail.nextSequence, partition: partition, offset: first)
    unsafe try key.withBytes { bytes in
      let place = unsafe try transaction.reserve(
        batches, key: bytes, count: batch.pointer.pointee.byteCount, .append)
      unsafe place.copyMemory(from: batch.pointer.pointee.buffer.bytes)
    }
    if tail.needsIndexEntry(partition) {
      let entry = IndexEntry(
        partition: partition, offset: first, sequence: tail.nextSequence,
        maximumTimestampBefore: tail.maximumTimestamps[partition])
      try unsafe entry.key.withUnsafeBytes { key in
        try unsafe entry.value.withUnsafeBytes { unsafe try transaction.put(index, key: key, value: $0) }
      }
      tail.bytesSinceIndex[partition] = 0
      tail.indexedAt[partition] = tail.nextSequence
    }
    tail.add(key, header, bytes: unsafe batch.pointer.pointee.byteCount)
  }

  /// Keeps the producer's last sequence in the same transaction as its records.
  private func stage(
    _ batch: BatchHandle, lastOffset: Int64, _ producers: inout ProducerTable,
    in transaction: borrowing WriteTransaction
  ) throws {
    guard let producer = unsafe batch.pointer.pointee.producer else { return }
    let key = ProducerTable.Key(partition: unsafe batch.pointer.pointee.partition, producer: producer.id)
    let last = unsafe batch.pointer.pointee.sequence + Int64(batch.pointer.pointee.count) - 1
    let entry = ProducerTable.Entry(epoch: producer.epoch, lastSequence: last, lastOffset: lastOffset)
    try put(SegmentMeta.producerKey(key), SegmentMeta.producer(entry), in: transaction)
    producers.stage(key, entry)
  }
}
