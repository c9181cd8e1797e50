import Synchronization

/// One member of a consumer group in one topic: has some of its partitions, reads them, and commits how far it came.
///
/// Members of a group in one process share a topic's partitions evenly; each partition is read by one of them at a
/// time. When members come or go, partitions change hands: the one that has it first finishes what it was given. A
/// group belongs to one process at a time, the writer's or one that reads, and is free when that process ends.
///
///     let subscription = try topic.subscribe(group: "mailer")
///     for try await record in subscription.records() {
///       try await send(record.value)
///       try await subscription.commit(record)
///     }
///
/// At least once: after a crash everything that was not committed is given again. One consumer at a time iterates
/// `records()` or `batches()` or runs `forEach`; all else may be called from any task. The member leaves at `close()`,
/// or when nobody holds the subscription any more.
public final class Subscription: Sendable {
  public let topic: LogTopic
  public let options: SubscriptionOptions
  let shared: TopicGroup
  let id: UInt64
  let wake: Wakeup
  /// Where each partition ends that is not read to its live end.
  let limits: [Int64]?
  private let owner: ConsumerGroup
  private let listener: LogListener
  private let life = Mutex(Life())

  private struct Life {
    var isConsumed = false
    var isClosing = false
    var hasLeft = false
    var jumps: [OffsetJump] = []
    var skipped: [LogDamage] = []
    var stop: (@Sendable () -> Void)?
    var counting: (@Sendable () -> DeliveryCounts)?
    var counts = DeliveryCounts()
    var waitingForEnd: [CheckedContinuation<Void, Never>] = []
  }

  init(_ group: String, _ topic: LogTopic, _ options: SubscriptionOptions) throws(EventLogError) {
    try GroupFiles.validate(group)
    try options.validate()
    self.topic = topic
    self.options = options
    let wake = Wakeup()
    limits = options.tailing ? nil : try topic.state.snapshot().ends
    (owner, shared, id) = try topic.state.core.groups.join(group, topic.state, options, wake)
    self.wake = wake
    listener = topic.onAppend { wake.signal() }
  }

  deinit { leave() }

  public var group: String { owner.name }

  /// The partitions that the member has now, in order. Those that go over to others are among them until released.
  public var partitions: [Int] { ((try? shared.holdings(of: id)) ?? [:]).keys.sorted() }

  /// Where the group did not find its offset and went on elsewhere, as its policy says.
  public var jumps: [OffsetJump] { life.withLock { $0.jumps } }

  /// What could not be read and was skipped, as the options say.
  public var skipped: [LogDamage] { life.withLock { $0.skipped } }

  /// Ends the consumer and leaves the group: what runs is finished first, as far as `forEach` allows it time.
  ///
  /// What was not committed is given again, to another member or after the next start. Iterations end with nil.
  public func close() async {
    let stop = life.withLock { life in
      life.isClosing = true
      return life.stop
    }
    wake.signal()
    if let stop {
      stop()
      await withCheckedContinuation { continuation in
        let isOver = life.withLock { life in
          if life.stop == nil { return true }
          life.waitingForEnd.append(continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    }
    leave()
  }

  private func leave() {
    let isFirst = life.withLock { life in
      defer { life.hasLeft = true }
      life.isClosing = true
      return !life.hasLeft
    }
    if !isFirst { return }
    listener.cancel()
    topic.state.core.groups.leave(owner, shared, id)
  }

  // MARK: For consumers

  var isClosing: Bool { life.withLock { $0.isClosing } }

  /// Marks the subscription as being consumed; `stop` is called when it is to end.
  func beginConsuming(stop: (@Sendable () -> Void)? = nil) throws(EventLogError) {
    let refusal = life.withLock { life -> EventLogError? in
      if life.isClosing { return EventLogError(.closed, "the subscription was closed", topic: topic.name) }
      if life.isConsumed {
        return EventLogError(
          .subscriptionInUse, "the subscription is being consumed already; subscribe once more for a second consumer",
          topic: topic.name)
      }
      life.isConsumed = true
      life.stop = stop
      return nil
    }
    if let refusal { throw refusal }
  }

  func endConsuming() {
    let waiting = life.withLock { life in
      life.isConsumed = false
      life.stop = nil
      defer { life.waitingForEnd = [] }
      return life.waitingForEnd
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Where the counts of a running `forEach` are; without it, they stay as they are.
  func setCounting(_ counting: (@Sendable () -> DeliveryCounts)?) {
    let counts = currentCounts()
    life.withLock { life in
      life.counting = counting
      life.counts = counts
    }
  }

  func currentCounts() -> DeliveryCounts {
    let (counting, counts) = life.withLock { ($0.counting, $0.counts) }
    return counting?() ?? counts
  }

  func note(_ jump: OffsetJump) {
    life.withLock { $0.jumps.append(jump) }
    options.onJump?(jump)
  }

  func note(_ damages: [LogDamage]) { life.withLock { $0.skipped += damages } }

  /// Suspends until there may be something to do: news in the log, in the group, a closing, or `timeout`.
  func waitForNews(_ timeout: Duration? = nil) async {
    var bound = timeout
    if let next = shared.expire() { bound = min(bound ?? next, max(next, .milliseconds(1))) }
    let core = topic.state.core
    if !core.isWritable { bound = min(bound ?? core.options.pollInterval, core.options.pollInterval) }
    await wake.wait(bound, options.clock)
  }
}

extension LogTopic {
  /// Joins the consumer group called `group`, which begins with its first member, and returns the membership.
  ///
  /// In a log opened for reading, too: offsets are in a file of the group's own. Blocks for the disk.
  ///
  /// - Throws: `groupInUse` if another process has the group; `invalidGroup`, `invalidOptions`; `storage`, also where
  ///   the folder may not be written.
  public func subscribe(
    group: String, _ options: SubscriptionOptions = SubscriptionOptions()
  ) throws(EventLogError) -> Subscription {
    try Subscription(group, self, options)
  }
}
