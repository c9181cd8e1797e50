import Bytes
import Synchronization

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

  /// Returns the record's size if it may be appended.
  @discardableResult
  func check(_ record: NewRecord) throws(EventLogError) -> Int {
    let headers = record.headers.reduce(0) { $0 + 8 + $1.name.utf8.count + $1.value.count }
    let size = (record.key?.count ?? 0) + record.value.count + headers
    try checkSize(key: record.key?.count ?? 0, total: size)
    return size
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
