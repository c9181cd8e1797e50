import Bytes
import Dataflow
import LMDB

/// One subtask's outgoing records of one epoch, written into the checkpoint's transaction: sequences are given there,
/// so that they are as durable as what they count.
struct OutboxPart: SealedPart {
  let outbox: Outbox
  let target: OutboxTarget
  let producer: UInt64
  let epoch: UInt32
  /// Per partition its rows in order.
  let rows: [UInt32: [SealedRow]]

  func write(in transaction: borrowing WriteTransaction, checkpoint: UInt64) throws {
    try outbox.refuseIfStuck(producer)
    let database = outbox.database
    try put(transaction, OutboxKeys.producer(producer), target.encoded)
    for (partition, rows) in rows {
      let lane = OutboxKeys.Lane(producer: producer, epoch: epoch, partition: partition)
      let nextKey = OutboxKeys.next(lane)
      var sequence = try unsafe nextKey.withUnsafeBytes { key in
        guard let stored = try unsafe transaction.get(database, key), stored.count == 8 else { return Int64(0) }
        return unsafe stored.little(Int64.self, at: 0)
      }
      for row in rows {
        try put(transaction, OutboxKeys.row(lane, sequence: sequence), row.bytes)
        sequence += Int64(row.count)
      }
      var next = ByteBuffer(capacity: 16)
      next.append(sequence)
      try put(transaction, nextKey, next.array)
    }
    try outbox.removeDrained(in: transaction)
  }

  func committed(checkpoint: UInt64) { outbox.wake() }

  private func put(_ transaction: borrowing WriteTransaction, _ key: [UInt8], _ value: [UInt8]) throws {
    try unsafe key.withUnsafeBytes { key in
      try unsafe value.withUnsafeBytes { value in try unsafe transaction.put(outbox.database, key: key, value: value) }
    }
  }
}
