extension Subscription {
  /// Commits everything in the record's partition up to and with `record`; returns when that is durable.
  ///
  /// Commits that come together share one sync. A commit never moves back: one behind what is committed does nothing.
  ///
  /// - Throws: `commitFenced` if the partition went over to another member; `closed`, `storage`.
  public func commit(_ record: GroupRecord) async throws {
    try await commit([
      TopicGroup.Commit(
        partition: record.partition, generation: record.generation, offset: record.offset + 1)
    ])
  }

  /// Commits everything up to and with `records`, in all their partitions, in one transaction.
  public func commit(_ records: [GroupRecord]) async throws {
    var last: [Int: GroupRecord] = [:]
    for record in records {
      if let known = last[record.partition], known.offset > record.offset { continue }
      last[record.partition] = record
    }
    try await commit(
      last.values.map {
        TopicGroup.Commit(partition: $0.partition, generation: $0.generation, offset: $0.offset + 1)
      })
  }

  /// Commits `offset` as the next to be read in `partition`, which the member has.
  ///
  /// - Throws: `offsetOutOfRange` beyond the log's end; as `commit(_:)`.
  public func commit(partition: Int, offset: Int64) async throws {
    try topic.state.check(partition)
    let range = try topic.state.snapshot().range(partition)
    if offset < 0 || offset > range.upperBound {
      throw EventLogError.offsetOutOfRange(offset, range, topic: topic.name, partition: partition)
    }
    let generation = try shared.generation(of: partition, id)
    try await commit([TopicGroup.Commit(partition: partition, generation: generation, offset: offset)])
  }

  /// Commits everything given so far in the partitions that the member has.
  public func commitAll() async throws { try await commit(shared.given(to: id)) }

  func commit(_ commits: [TopicGroup.Commit]) async throws { try await shared.commit(commits, by: id) }

  /// What is committed in `partition`: the next offset to be read; nil before the first time it is read.
  public func committed(_ partition: Int) -> Int64? { shared.positions().committed[partition]?.offset }

  /// How many offsets lie between what is committed and the durable end, by partition, over the whole topic.
  public func lag() throws(EventLogError) -> [Int64] {
    let committed = shared.positions().committed
    return try topic.offsets().enumerated().map { GroupDescription.lag(committed[$0], $1) }
  }
}
