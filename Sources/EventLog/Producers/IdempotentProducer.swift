public import Bytes

extension LogTopic {
  /// Opens the idempotent producer of that name: it takes the name's next epoch, kept in the topic, and from this
  /// moment on all that were opened before under this name are fenced, as what they had under way and was not written.
  ///
  /// Names are for what goes on existing, as `orders-importer`, not for each run. A topic remembers
  /// `LogOptions.maximumProducers` of them.
  ///
  /// - Parameter retryFor: how long, all waiting together, an append is tried again after retriable failures, as a full
  ///   disk.
  /// - Throws: `tooManyProducers`; `invalidOptions` for a name that has not 1 to 255 bytes; `storage`, `closed`,
  ///   `topicDeleted`, `readOnly`.
  public func producer(named name: String, retryFor: Duration = .seconds(30)) async throws -> IdempotentProducer {
    let writer = try requireWriter()
    guard (1...255).contains(name.utf8.count) else {
      throw EventLogError(
        .invalidOptions, "a producer's name has 1 to 255 bytes of UTF-8, not \(name.utf8.count)", topic: self.name)
    }
    let id = try await withCheckedThrowingContinuation { continuation in
      writer.run(.task(continuation)) { try $0.openProducer(name) }
    }
    return IdempotentProducer(self, writer, name, id, retryFor: retryFor)
  }

  /// The number of the last record that the producer with this id appended to `partition`, whatever its epoch; nil if
  /// the topic does not know it. For those who number by themselves and want to go on where they were.
  public func lastSequence(ofProducer id: UInt64, partition: Int) async throws -> (epoch: UInt32, sequence: Int64)? {
    let writer = try requireWriter()
    try state.check(partition)
    return try await withCheckedThrowingContinuation { continuation in
      writer.run(.task(continuation)) { $0.lastSequence(ProducerTable.Key(partition: partition, producer: id)) }
    }
  }
}

/// Appends to one topic without duplicates and without changing the order, also when appends fail and are tried again.
///
/// It numbers its records per partition; the log drops what it has already and refuses gaps. What is appended from
/// several tasks goes to the disk in the order in which the calls came, what waits meanwhile together in one commit.
/// After a failure that may pass, as a full disk, the same records are tried again before any later ones. When a call
/// throws, none of its records is in the log, and later calls go on, but for two errors, which all later calls throw,
/// too: `fenced`, once another producer was opened under this name, and an input/output error of which it is not known
/// whether the commit took place (`storage`, not retriable).
///
/// That a program which was killed appends nothing twice when it starts anew is more than any producer can know: its
/// new epoch begins a new numbering. Where the records' own source has numbers, use `appendIdempotent` with these.
public final class IdempotentProducer: Sendable {
  public let name: String
  /// The hash of the name, and the epoch of this opening.
  public let id: ProducerID
  private let topic: LogTopic
  private let lane: ProducerLane

  init(_ topic: LogTopic, _ writer: TopicWriter, _ name: String, _ id: ProducerID, retryFor: Duration) {
    self.name = name
    self.id = id
    self.topic = topic
    lane = ProducerLane(writer, id, retryFor: retryFor.wholeNanoseconds)
  }

  /// Appends one record and returns its position when it is durable.
  ///
  /// - Throws: as `append(contentsOf:)`.
  @discardableResult
  public func append(
    key: [UInt8]?, value: [UInt8], timestamp: Timestamp, headers: [LogHeader] = [], partition: Int? = nil
  ) async throws -> LogPosition {
    let record = NewRecord(key: key, value: value, timestamp: timestamp, headers: headers)
    return try await append(contentsOf: [record], partition: partition)[0]
  }

  /// Appends records as a whole, all or nothing, and returns their positions when they are durable.
  ///
  /// At most 65,536 records and 17 MiB, where each counts 24 bytes besides its key, value and headers. Once called it
  /// is not taken back when the task is cancelled.
  ///
  /// - Throws: `fenced`; `groupTooLarge`, `recordTooLarge`, `invalidPartition`; `storage`, after the retries; `closed`,
  ///   `topicDeleted`.
  @discardableResult
  public func append(contentsOf records: [NewRecord], partition: Int? = nil) async throws -> [LogPosition] {
    if records.isEmpty { return [] }
    let targets = try check(records, partition)
    return try await withCheckedThrowingContinuation { continuation in
      lane.append(ProducerLane.Call(records: records, targets: targets) { continuation.resume(with: $0) })
    }
  }

  /// As `append(contentsOf:)`, for plain threads: blocks until they are durable.
  @discardableResult
  public func appendBlocking(contentsOf records: [NewRecord], partition: Int? = nil) throws -> [LogPosition] {
    if records.isEmpty { return [] }
    let targets = try check(records, partition)
    let done = BlockingResult<[LogPosition]>()
    lane.append(ProducerLane.Call(records: records, targets: targets) { done.finish($0) })
    return try done.wait()
  }

  private func check(_ records: [NewRecord], _ partition: Int?) throws(EventLogError) -> [Int] {
    if let partition { try topic.state.check(partition) }
    try topic.checkGroup(records, limit: ProducerLane.maximumBytes)
    if records.count > OpenBatch.maximumCount {
      var error = EventLogError(
        .groupTooLarge,
        "an idempotent append has at most \(OpenBatch.maximumCount) records, not \(records.count); split it",
        topic: topic.name)
      error.size = records.count
      error.limit = OpenBatch.maximumCount
      throw error
    }
    return try topic.targets(of: records, partition)
  }
}
