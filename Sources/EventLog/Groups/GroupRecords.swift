/// The records that a member of a group is given, until the subscription is closed or the task cancelled; or to the end
/// as it was at the subscription, if it does not tail. In order within each partition.
///
/// Asking for the next record says that the ones before are finished: partitions that go over to another member are
/// released then, after `onRevoke` had its chance to commit.
public struct GroupRecords: AsyncSequence, Sendable {
  public typealias Element = GroupRecord
  public typealias Failure = any Error

  let subscription: Subscription
  let onRevoke: GroupConsumer.Revoke?

  public func makeAsyncIterator() -> Iterator { Iterator(consumer: GroupConsumer(subscription, onRevoke)) }

  public struct Iterator: AsyncIteratorProtocol {
    let consumer: GroupConsumer
    private var chunk: [GroupRecord] = []
    private var index = 0

    init(consumer: GroupConsumer) { self.consumer = consumer }

    /// The next record; nil at the end, once the subscription is closed, or the task cancelled.
    ///
    /// - Throws: `offsetOutOfRange`, as the policy says; as `LogReader.read`; what `onRevoke` throws.
    public mutating func next() async throws -> GroupRecord? {
      try await consumer.finishGiven()
      while true {
        while index < chunk.count {
          let record = chunk[index]
          index += 1
          if consumer.give(record) { return record }
        }
        guard let more = try await consumer.more() else { return nil }
        chunk = more
        index = 0
      }
    }
  }
}

/// As `GroupRecords`, several records at a time: what could be read at once, never none.
public struct GroupBatches: AsyncSequence, Sendable {
  public typealias Element = [GroupRecord]
  public typealias Failure = any Error

  let subscription: Subscription
  let maximum: Int
  let onRevoke: GroupConsumer.Revoke?

  public func makeAsyncIterator() -> Iterator {
    Iterator(consumer: GroupConsumer(subscription, onRevoke), maximum: maximum)
  }

  public struct Iterator: AsyncIteratorProtocol {
    let consumer: GroupConsumer
    let maximum: Int
    private var chunk: ArraySlice<GroupRecord> = []

    init(consumer: GroupConsumer, maximum: Int) {
      self.consumer = consumer
      self.maximum = maximum
    }

    /// The next records, at most as many as was asked for; nil at the end. Throws as `GroupRecords`.
    public mutating func next() async throws -> [GroupRecord]? {
      try await consumer.finishGiven()
      while true {
        let batch = chunk.prefix(maximum).filter { consumer.give($0) }
        chunk = chunk.dropFirst(maximum)
        if !batch.isEmpty { return batch }
        if chunk.isEmpty {
          guard let more = try await consumer.more() else { return nil }
          chunk = more[...]
        }
      }
    }
  }
}

extension Subscription {
  /// The records of the member's partitions.
  ///
  /// - Parameter onRevoke: called with the partitions that are about to go over to another member; what it commits
  ///   there counts, and what is not committed when it returns is given to the other one again.
  public func records(
    onRevoke: (@Sendable (_ partitions: [Int]) async throws -> Void)? = nil
  ) -> GroupRecords {
    GroupRecords(subscription: self, onRevoke: onRevoke)
  }

  /// The records of the member's partitions, up to `maximum` of them at a time.
  public func batches(
    of maximum: Int = 1000, onRevoke: (@Sendable (_ partitions: [Int]) async throws -> Void)? = nil
  ) -> GroupBatches {
    GroupBatches(subscription: self, maximum: max(maximum, 1), onRevoke: onRevoke)
  }
}

/// What the iterators share: one consumption of a subscription.
// Invariant of `@unchecked Sendable`: one iterator owns it and awaits each call.
final class GroupConsumer: @unchecked Sendable {
  typealias Revoke = @Sendable ([Int]) async throws -> Void
  private static let bytesPerRead = 256 << 10
  private let subscription: Subscription
  private let onRevoke: Revoke?
  private var feed: MemberFeed?
  private var seenVersion = -1

  init(_ subscription: Subscription, _ onRevoke: Revoke?) {
    self.subscription = subscription
    self.onRevoke = onRevoke
  }

  deinit { if feed != nil { subscription.endConsuming() } }

  /// Everything given is finished: what was revoked is released.
  func finishGiven() async throws {
    let shared = subscription.shared
    let version = shared.version
    if version == seenVersion { return }
    let revoked = shared.revoked(from: subscription.id)
    if !revoked.isEmpty {
      if let onRevoke { try await onRevoke(revoked.keys.sorted()) }
      for (partition, generation) in revoked { shared.release(partition, generation: generation, by: subscription.id) }
    }
    seenVersion = version
  }

  func give(_ record: GroupRecord) -> Bool {
    subscription.shared.give(
      subscription.id, partition: record.partition, generation: record.generation, through: record.offset + 1)
  }

  /// What can be read next, waiting for it; nil at the end.
  func more() async throws -> [GroupRecord]? {
    let feed = try self.feed ?? start()
    while !Task.isCancelled && !subscription.isClosing {
      try await finishGiven()
      _ = try await feed.follow()
      let (records, isAny) = try await read(feed)
      if !records.isEmpty { return records }
      let isAtEnd = feed.isAtEnd
      if isAny || feed.isBehind { continue }
      if subscription.limits != nil, isAtEnd { return nil }
      await subscription.waitForNews()
    }
    return nil
  }

  private func start() throws -> MemberFeed {
    try subscription.beginConsuming()
    let feed = MemberFeed(subscription)
    self.feed = feed
    return feed
  }

  private func read(_ feed: MemberFeed) async throws -> (records: [GroupRecord], isAny: Bool) {
    let chunk = Chunk()
    let isAny = try await feed.read(maxBytes: Self.bytesPerRead) { batch, part in
      for record in batch {
        if record.offset >= part.limit { break }
        if part.finished.contains(record.offset) { continue }
        chunk.records.append(
          GroupRecord(OwnedRecord(copying: record, partition: batch.partition), generation: part.generation))
      }
      return batch.lastOffset + 1
    }
    return (chunk.records, isAny)
  }

  // Invariant of `@unchecked Sendable`: filled by the reader's thread, while its owner waits.
  private final class Chunk: @unchecked Sendable {
    var records: [GroupRecord] = []
  }
}
