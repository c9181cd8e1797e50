import Millrace

/// `millrace tail --group`: as a member of a consumer group, which goes on where it left off.
struct GroupTail {
  let console: Console
  let options: TailOptions

  /// The iterator of a subscription.
  // Invariant of `@unchecked Sendable`: the command waits for each call, so one thread at a time uses it.
  private final class Feed: @unchecked Sendable {
    private var batches: GroupBatches.Iterator

    init(_ subscription: Subscription, _ maximum: Int) {
      batches = subscription.batches(of: maximum).makeAsyncIterator()
    }

    func next() async throws -> [GroupRecord]? { try await batches.next() }
  }

  /// Shows records until the end, the limit or an interrupt. What was shown is committed, after it was written: a
  /// record may be shown again after a crash, none is left out.
  func run(_ group: String, _ topic: LogTopic, show: (OwnedRecord) throws -> Void) throws -> Int32 {
    // One that does not wait for more may be ended anywhere.
    if options.isFollowing { console.catchInterrupts() }
    let isStopped = options.isFollowing ? console.isStopped : { false }
    let subscription = try topic.subscribe(
      group: group,
      SubscriptionOptions(
        start: StartPosition(options.start ?? .earliest), tailing: options.isFollowing, damage: .skip,
        memberName: "millrace tail"))
    defer { try? AsyncWork.run { await subscription.close() } }
    let feed = Feed(subscription, min(options.limit ?? 1000, 1000))
    var left = options.limit ?? .max
    while left > 0, !isStopped() {
      let batch = try AsyncWork.run(isStopped: isStopped) { try await feed.next() }
      guard let batch else { break }
      let shown = Array(batch.prefix(left))
      for record in shown { try show(record.record) }
      try console.flush()
      try AsyncWork.run { try await subscription.commit(shown) }
      left -= shown.count
    }
    for damage in subscription.skipped { console.note("millrace: skipped \(damage)") }
    return subscription.skipped.isEmpty ? ExitCode.success : ExitCode.failure
  }
}
