import Millrace

/// The topic that `millrace append` writes to, with its limits.
struct AppendTarget {
  private let topic: LogTopic
  private let partition: Int?
  private let limit: Int
  /// What stands in front of every value: the number of its schema, in a typed topic.
  private let prefix: [UInt8]

  init(_ topic: PlaceTopic, _ options: AppendOptions) throws {
    self.topic = topic.log
    partition = options.partition
    limit = topic.log.options.maximumRecordBytes
    if let partition, partition >= topic.log.partitions {
      throw UsageError(
        message: "topic '\(topic.log.name)' has the partitions 0 to \(topic.log.partitions - 1), not \(partition)",
        command: "append")
    }
    prefix = try topic.untyped?.valuePrefix(isJSON: options.input == .json) ?? []
  }

  /// A line that is longer cannot be a record.
  var maximumLineBytes: Int { limit + (64 << 10) }

  /// The record as it is stored, if it is within the topic's limits.
  func checked(_ record: NewRecord) throws(LineRecords.BadLine) -> NewRecord {
    var record = record
    if !prefix.isEmpty { record.value = prefix + record.value }
    if record.key?.count ?? 0 > 65_534 { throw LineRecords.BadLine(description: "its key is longer than 65,534 bytes") }
    let bytes = Self.bytes(of: record)
    if bytes > limit {
      throw LineRecords.BadLine(
        description: "its record has \(HumanText.count(bytes)) bytes, the topic takes \(HumanText.count(limit))")
    }
    return record
  }

  /// As the log counts them: key, value, headers.
  static func bytes(of record: NewRecord) -> Int {
    let headers = record.headers.reduce(0) { $0 + 8 + $1.name.utf8.count + $1.value.count }
    return (record.key?.count ?? 0) + record.value.count + headers
  }

  /// Returns when all `records` are durable; after an error none of them is in the log, unless it says that it cannot
  /// know.
  func append(_ records: [NewRecord]) throws {
    try topic.appendBlocking(contentsOf: records, partition: partition)
    // In a topic that acknowledges before the sync: what we call durable is.
    try topic.flushBlocking()
  }
}
