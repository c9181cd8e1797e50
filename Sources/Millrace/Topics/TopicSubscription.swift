public import Bytes
public import EventLog

extension Topic {
  /// Joins the consumer group called `group`, which begins with its first member.
  ///
  /// Members in one process share the topic's partitions; a group belongs to one process at a time, one that writes the
  /// store or one that reads it.
  ///
  ///     let orders = try topic.subscribe(group: "mailer")
  ///     try await orders.forEach(maxConcurrent: 64) { entry in
  ///       try await sendMail(about: entry.event)
  ///     }
  ///
  /// - Parameter onUndecodable: what becomes of records whose bytes are not of the topic's type; they are not tried
  ///   again.
  /// - Throws: `EventLogError.groupInUse` if another process has the group; `invalidGroup`, `invalidOptions`,
  ///   `storage`.
  public func subscribe(
    group: String, _ options: SubscriptionOptions = SubscriptionOptions(), onUndecodable: FailurePolicy = .fail
  ) throws -> TopicSubscription<Event> {
    TopicSubscription(
      topic: self, log: try log.subscribe(group: group, options), onUndecodable: onUndecodable)
  }
}

/// A member of a consumer group that reads a topic's events. A value, cheap to pass around; the membership ends with
/// `close()`, or when nobody holds it any more.
public struct TopicSubscription<Event: Sendable>: Sendable {
  public let topic: Topic<Event>
  /// The membership as the log has it: partitions, commits, lag, jumps, raw records.
  public let log: Subscription
  let onUndecodable: FailurePolicy

  /// Ends the consumer, finishing what runs, and leaves the group.
  public func close() async { await log.close() }

  /// How many offsets lie between what is committed and the durable end, by partition, over the whole topic.
  public func lag() throws -> [Int64] { try log.lag() }

  /// Handles events with up to `maxConcurrent` calls of `body` at once: those of one key strictly in order and never
  /// two at a time. Commits by itself what is finished; see `Subscription.forEach`, of which this is the typed face.
  ///
  /// - Throws: `EventLogError.recordFailed` with the first error that the policies did not deal with, which is a
  ///   `StoreError.undecodableRecord` for a record that is not of the topic's type; as `Subscription.forEach`.
  @discardableResult
  public func forEach(
    maxConcurrent: Int = 64, _ options: DeliveryOptions = DeliveryOptions(),
    _ body: @escaping @Sendable (Topic<Event>.Entry) async throws -> Void
  ) async throws -> DeliveryCounts {
    try await log.forEach(maxConcurrent: maxConcurrent, options) { record in
      let entry: Topic<Event>.Entry
      do {
        entry = try topic.entry(record)
      } catch {
        throw DeliveryRejection(onUndecodable, error)
      }
      try await body(entry)
    }
  }

  /// The events of the member's partitions, to be committed by whoever iterates.
  ///
  ///     for try await entry in orders.events() {
  ///       try await handle(entry.event)
  ///       try await orders.commit(entry)
  ///     }
  ///
  /// - Parameter onRevoke: called with the partitions that are about to go over to another member; what it commits
  ///   there counts.
  public func events(
    onRevoke: (@Sendable (_ partitions: [Int]) async throws -> Void)? = nil
  ) -> GroupEvents<Event> {
    GroupEvents(subscription: self, records: log.records(onRevoke: onRevoke))
  }

  /// Commits everything in the event's partition up to and with it; returns when that is durable.
  ///
  /// - Throws: `EventLogError.commitFenced` if the partition went over to another member; `closed`, `storage`.
  public func commit(_ entry: GroupEvents<Event>.Element) async throws { try await log.commit(entry.record) }

  /// Commits everything given so far.
  public func commitAll() async throws { try await log.commitAll() }
}

extension Topic {
  fileprivate func entry(_ record: OwnedRecord) throws -> Entry {
    do {
      return Entry(
        event: try decode(record.value), partition: record.partition, offset: record.offset,
        timestamp: record.timestamp)
    } catch {
      throw StoreError.undecodable(name, record.partition, record.offset, error)
    }
  }
}

/// The events that a member of a group is given; see `GroupRecords`.
public struct GroupEvents<Event: Sendable>: AsyncSequence, Sendable {
  public typealias Failure = any Error

  /// An event and the record that it was in.
  public struct Element: Sendable {
    public var event: Event
    public var record: GroupRecord

    public var partition: Int { record.partition }
    public var offset: Int64 { record.offset }
    public var timestamp: Timestamp { record.timestamp }
  }

  let subscription: TopicSubscription<Event>
  let records: GroupRecords

  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: subscription, records: records.makeAsyncIterator())
  }

  public struct Iterator: AsyncIteratorProtocol {
    let subscription: TopicSubscription<Event>
    var records: GroupRecords.Iterator

    /// The next event; nil at the end, once the subscription is closed, or the task cancelled.
    ///
    /// A record that cannot be decoded is dealt with first, as the policy says; it is committed with those behind it.
    public mutating func next() async throws -> Element? {
      while let record = try await records.next() {
        do {
          return Element(event: try subscription.topic.entry(record.record).event, record: record)
        } catch {
          switch subscription.onUndecodable {
          case .fail: throw error
          case .skip: continue
          case .deadLetter(let topic): try await topic.append(deadLetter: record.record, error, of: subscription.log)
          }
        }
      }
      return nil
    }
  }
}
