import Bytes
import LMDB

extension SegmentFile {
  /// Gives every batch of the sealed segment `record` to `body`, in order, opened and checked.
  ///
  /// - Throws: `damaged` at the first batch that cannot be read, or is not there; what `body` throws.
  func forEachBatch(
    of record: SegmentRecord, topic: String, _ opener: BatchOpener,
    _ body: (BatchHeader, LogBatch) throws -> Bool
  ) throws {
    var next = record.starts
    func damaged(_ partition: Int, _ range: Range<Int64>, _ reason: String) -> EventLogError {
      .damaged(range, reason, topic: topic, partition: partition, path: path)
    }
    let isWhole = try environment.read { transaction in
      try transaction.withCursor(batches) { cursor in
        var isThere = try cursor.first()
        while isThere {
          guard let key = unsafe BatchKey(cursor.key), next.indices.contains(key.partition) else {
            throw EventLogError(.damaged, "a key of a batch is damaged", topic: topic, path: path)
          }
          let due = next[key.partition]
          if key.offset != due {
            throw damaged(key.partition, due..<max(due + 1, key.offset), "the log has no batch with them")
          }
          switch unsafe opener.open(cursor.value, partition: key.partition, offset: due, from: due) {
          case .damaged(let reason): throw damaged(key.partition, due..<due + 1, reason)
          case .batch(let batch):
            let goesOn = try unsafe body(BatchHeader(cursor.value), batch)
            if case .damaged(let reason) = opener.takeFault() {
              throw damaged(key.partition, due..<batch.lastOffset + 1, reason)
            }
            if !goesOn { return false }
            next[key.partition] = batch.lastOffset + 1
          }
          isThere = try cursor.next()
        }
        return true
      }
    }
    if !isWhole { return }
    for (partition, offset) in next.enumerated() where offset < record.ends[partition] {
      throw damaged(partition, offset..<record.ends[partition], "the segment ends before them")
    }
  }
}
