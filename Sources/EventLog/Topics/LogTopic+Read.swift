public import Bytes

extension LogTopic {
  /// The oldest offset of `partition` that can be read.
  public func startOffset(_ partition: Int) throws(EventLogError) -> Int64 {
    try state.check(partition)
    return try state.snapshot().range(partition).lowerBound
  }

  /// The durable end of `partition`: the offset of the next record.
  public func endOffset(_ partition: Int) throws(EventLogError) -> Int64 {
    try state.check(partition)
    return try state.snapshot().ends[partition]
  }

  /// Start and durable end of every partition, at one moment.
  public func offsets() throws(EventLogError) -> [Range<Int64>] {
    let snapshot = try state.snapshot()
    return (0..<partitions).map { snapshot.range($0) }
  }

  /// A reader of one partition, which goes on at `offset`.
  ///
  /// - Throws: `offsetOutOfRange` with the valid range; the durable end is valid.
  public func reader(
    partition: Int, from offset: Int64, damage: LogReader.DamagePolicy = .refuse,
    checksums: LogReader.Checksums = .verify
  ) throws(EventLogError) -> LogReader {
    try LogReader(state, offsets: [partition: offset], damage: damage, checksums: checksums, log: log)
  }

  /// A reader of several partitions, each from its own offset, in order of arrival.
  public func reader(
    from offsets: [Int: Int64], damage: LogReader.DamagePolicy = .refuse, checksums: LogReader.Checksums = .verify
  ) throws(EventLogError) -> LogReader {
    try LogReader(state, offsets: offsets, damage: damage, checksums: checksums, log: log)
  }

  /// The records of `partition` from `offset` on as an asynchronous sequence: to the end as it is when iteration
  /// begins, or, tailing, for ever.
  public func records(
    partition: Int, from offset: Int64, tailing: Bool = false, damage: LogReader.DamagePolicy = .refuse
  ) -> RecordSequence {
    RecordSequence(log: log, state: state, offsets: [partition: offset], isTailing: tailing, damage: damage)
  }

  /// The records of several partitions in order of arrival.
  public func records(
    from offsets: [Int: Int64], tailing: Bool = false, damage: LogReader.DamagePolicy = .refuse
  ) -> RecordSequence {
    RecordSequence(log: log, state: state, offsets: offsets, isTailing: tailing, damage: damage)
  }

  /// The offset of the first record in `partition` with a timestamp at or after `timestamp`; nil if there is none.
  ///
  /// Timestamps need not be in order; damaged batches are passed over. Goes by the largest timestamps of segments and
  /// index entries: cost grows with the number of segments and reads at most a few batches of each that may hold it.
  public func offset(forTimestamp timestamp: Timestamp, partition: Int) throws -> Int64? {
    try state.check(partition)
    return try TimeLookup(state: state, partition: partition, timestamp: timestamp.microseconds).run()
  }

  /// Calls `listener` on the writer's thread after each durable commit, until the returned token is cancelled. In the
  /// writer's process only; it should do no more than wake somebody up.
  public func onAppend(_ listener: @escaping @Sendable () -> Void) -> LogListener {
    LogListener(state: state, id: state.addListener(listener))
  }
}

/// Keeps a listener registered until `cancel` or its own end.
public final class LogListener: Sendable {
  private let state: TopicState
  private let id: UInt64

  init(state: TopicState, id: UInt64) {
    self.state = state
    self.id = id
  }

  deinit { state.removeListener(id) }

  public func cancel() { state.removeListener(id) }
}
