extension Subscription {
  /// Handles the records of the member's partitions with up to `maxConcurrent` calls of `body` at once: those of one
  /// key strictly in their order and never two at a time, those of different keys side by side, also within one
  /// partition. Records without a key have no order among themselves, unless `options.keyless` says so.
  ///
  ///     try await subscription.forEach(maxConcurrent: 64) { record in
  ///       try await handle(record)
  ///     }
  ///
  /// Begins at what is committed. Commits by itself, only what is finished: everything up to the first unfinished
  /// record of each partition, and, beside it, what is finished behind, so that the next start does not repeat it.
  /// At least once: after a crash, what was finished since the last commit is given again. A slow or failing
  /// record holds up its own key only, until its partition is `maximumRecordsAhead` or `maximumBytesAhead` further.
  ///
  /// Runs until the task is cancelled or the subscription closed, and then returns: nothing new is begun, what runs is
  /// finished (up to `stopTimeout`; then it is cancelled and waited for), and what is finished is committed. Without
  /// `tailing` it returns at the end.
  ///
  /// - Throws: `recordFailed` with the first error that the policy did not deal with, after the same graceful stop;
  ///   `offsetOutOfRange`, as the policy says; `invalidOptions`, `subscriptionInUse`, `closed`; `storage`.
  @discardableResult
  public func forEach(
    maxConcurrent: Int = 64, _ options: DeliveryOptions = DeliveryOptions(),
    _ body: @escaping @Sendable (OwnedRecord) async throws -> Void
  ) async throws -> DeliveryCounts {
    try options.validate(maxConcurrent: maxConcurrent)
    let engine = DeliveryEngine(self, maxConcurrent, options, body)
    try beginConsuming(stop: { engine.stop() })
    shared.takeBack(id)
    shared.setFinishesItself(id, true)
    setCounting { engine.counts }
    // A task of its own, awaited in any case: cancelling the caller's ends gracefully what it runs.
    let run = Task { await engine.run() }
    let failure = await withTaskCancellationHandler {
      await run.value
    } onCancel: {
      engine.stop()
    }
    shared.setFinishesItself(id, false)
    setCounting(nil)
    endConsuming()
    if let failure { throw failure }
    return engine.counts
  }

  /// What the running `forEach` has done so far, or the last one did.
  public var deliveryCounts: DeliveryCounts { currentCounts() }
}
