public import Bytes

// Records that are appended together: one commit, all or nothing. No reader, in this process or another, sees some of
// them without the others, and after a crash they are all there or none is.
extension LogTopic {
  /// Appends records to one or several partitions as a whole, in their order per partition, and returns their positions
  /// when all are durable.
  ///
  /// A record with a key goes to the key's partition; those without one all go to the same, any; `partition` overrides
  /// both. All go into one commit: after an error none of them is in the log.
  ///
  /// - Throws: `groupTooLarge` with both sizes if they are above 32 MiB, where each record counts 24 bytes besides its
  ///   key, value and headers: split them, giving up that they are one; else as `append`.
  @discardableResult
  public func append(contentsOf records: [NewRecord], partition: Int? = nil) async throws -> [LogPosition] {
    if records.count == 1, let record = records.first {
      let position = try await append(
        key: record.key, value: record.value, timestamp: record.timestamp, headers: record.headers,
        partition: partition)
      return [position]
    }
    return try await append(contentsOf: records, partition: partition, expecting: [:])
  }

  /// As `append(contentsOf:)`, for plain threads.
  @discardableResult
  public func appendBlocking(contentsOf records: [NewRecord], partition: Int? = nil) throws -> [LogPosition] {
    try appendBlocking(contentsOf: records, partition: partition, expecting: [:])
  }

  /// Appends one record if its partition ends at `offset`: nobody appended since the caller read up to there.
  ///
  /// Of several who expect the same end one succeeds. The end is the partition's, not the key's: for one stream of
  /// events per key, read the partition to its end, decide, and append expecting that end; who is refused because of
  /// another key's record reads on and tries again. With more partitions such conflicts are rarer.
  ///
  /// - Throws: `unexpectedOffset` with the `actualOffset`; nothing was written then. `invalidPartition` if neither key
  ///   nor `partition` says which of several partitions is meant. Else as `append`.
  @discardableResult
  public func append(
    key: [UInt8]?, value: [UInt8], timestamp: Timestamp, headers: [LogHeader] = [], partition: Int? = nil,
    expecting offset: Int64
  ) async throws -> LogPosition {
    let record = NewRecord(key: key, value: value, timestamp: timestamp, headers: headers)
    let target = try commonPartition([record], partition)
    return try await append(contentsOf: [record], partition: target, expecting: [target: offset])[0]
  }

  /// Appends records, all to one partition, if that ends at `offset`; as a whole.
  ///
  /// - Throws: `unexpectedOffset` with the `actualOffset`; `invalidPartition` if they are not all of one partition.
  ///   Else as `append(contentsOf:)`.
  @discardableResult
  public func append(
    contentsOf records: [NewRecord], partition: Int? = nil, expecting offset: Int64
  ) async throws -> [LogPosition] {
    if records.isEmpty { return [] }
    let target = try commonPartition(records, partition)
    return try await append(contentsOf: records, partition: target, expecting: [target: offset])
  }

  /// Appends records as a whole if every partition that is a key of `expected` ends at the offset given for it; these
  /// need not be partitions that are appended to.
  ///
  /// - Throws: `unexpectedOffset` with the partition and its `actualOffset`, for the first that differs. Else as
  ///   `append(contentsOf:)`.
  @discardableResult
  public func append(
    contentsOf records: [NewRecord], partition: Int? = nil, expecting expected: [Int: Int64]
  ) async throws -> [LogPosition] {
    if records.isEmpty { return [] }
    let writer = try requireWriter()
    let expectations = try check(expected)
    let encoded = try encode(records, partition, writer)
    while true {
      do {
        return try await withCheckedThrowingContinuation { continuation in
          do {
            let acceptance = try submit(encoded, expectations, writer) { continuation.resume(with: $0) }
            if acceptance == .full { continuation.resume(throwing: QueueFull()) }
          } catch {
            continuation.resume(throwing: error)
          }
        }
      } catch is QueueFull {
        try await waitForRoom(writer)
      }
    }
  }

  /// As `append(contentsOf:expecting:)`, for plain threads.
  @discardableResult
  public func appendBlocking(
    contentsOf records: [NewRecord], partition: Int? = nil, expecting expected: [Int: Int64]
  ) throws -> [LogPosition] {
    if records.isEmpty { return [] }
    let writer = try requireWriter()
    let expectations = try check(expected)
    let encoded = try encode(records, partition, writer)
    while true {
      let done = BlockingResult<[LogPosition]>()
      if try submit(encoded, expectations, writer, { done.finish($0) }) == .accepted { return try done.wait() }
      try waitForRoomBlocking(writer)
    }
  }

  private func submit(
    _ encoded: EncodedUnit, _ expectations: [Expectation], _ writer: TopicWriter,
    _ done: @escaping @Sendable (Result<[LogPosition], any Error>) -> Void
  ) throws(EventLogError) -> AppendQueue.Acceptance {
    let places = encoded.places
    let unit = AppendUnit(batches: encoded.batches.count, expectations: expectations) { outcome in
      done(outcome.map { EncodedUnit.positions(places, $0) }.mapError { $0 })
    }
    return try writer.queue.submit(encoded, unit)
  }

  private func check(_ expected: [Int: Int64]) throws(EventLogError) -> [Expectation] {
    for partition in expected.keys { try state.check(partition) }
    return expected.map { Expectation(partition: $0.key, offset: $0.value) }.sorted { $0.partition < $1.partition }
  }

  /// The one partition that all records go to.
  private func commonPartition(_ records: [NewRecord], _ partition: Int?) throws(EventLogError) -> Int {
    if let partition { return partition }
    if partitions == 1 { return 0 }
    var common: Int?
    for record in records {
      let own = record.key.map { unsafe $0.withUnsafeBytes { unsafe self.partition(forKey: $0) } }
      guard let own, own == common ?? own else {
        throw EventLogError(
          .invalidPartition,
          "an append that expects an end goes to one partition: give it, or keys that all belong to it", topic: name)
      }
      common = own
    }
    return common ?? 0
  }

  /// The records in batches of their own, checked.
  private func encode(_ records: [NewRecord], _ partition: Int?, _ writer: TopicWriter) throws(EventLogError)
    -> EncodedUnit
  {
    try checkGroup(records, limit: LogOptions.maximumGroupBytes)
    let unit = EncodedUnit(writer.queue, count: records.count)
    for (record, target) in zip(records, try targets(of: records, partition)) { unit.add(record, partition: target) }
    unit.complete(state.compression)
    return unit
  }

  /// The partition of each record of a group.
  func targets(of records: [NewRecord], _ partition: Int?) throws(EventLogError) -> [Int] {
    if let partition {
      try state.check(partition)
      return Array(repeating: partition, count: records.count)
    }
    if partitions == 1 { return Array(repeating: 0, count: records.count) }
    var withoutKey: Int?
    return records.map { record in
      if let key = record.key { return unsafe key.withUnsafeBytes { unsafe self.partition(forKey: $0) } }
      let target = withoutKey ?? writer?.queue.nextPartition() ?? 0
      withoutKey = target
      return target
    }
  }

  /// Checks every record, and that all of them fit into one commit.
  func checkGroup(_ records: [NewRecord], limit: Int) throws(EventLogError) {
    var size = 0
    for record in records { size += try check(record) + 24 }
    if size > limit { throw .groupTooLarge(size: size, limit: limit, topic: name) }
  }
}
