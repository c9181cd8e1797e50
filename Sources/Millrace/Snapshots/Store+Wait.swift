public import EventLog
import LMDB

extension Store {
  /// Waits until every job that reads `topic` has a checkpoint that includes the record at `position`: what is read
  /// afterwards knows of it (read your writes). Jobs that never ran are not waited for.
  ///
  /// - Throws: `StoreError.timedOut`, retriable; `CancellationError`.
  public func waitFor<Event>(
    _ position: LogPosition, in topic: Topic<Event>, timeout: Duration = .seconds(10)
  ) async throws {
    let deadline = ContinuousClock.now + timeout
    var seen = -1
    while true {
      let transaction = environment.lastTransactionID
      if transaction != seen {
        seen = transaction
        let readers = try jobs().compactMap { $0.sources[topic.name] }
        let isIncluded = readers.allSatisfy { partitions in
          position.partition < partitions.count && partitions[position.partition].position > position.offset
        }
        if isIncluded && !readers.isEmpty { return }
      }
      if ContinuousClock.now >= deadline {
        throw StoreError(
          .timedOut, path: path,
          detail:
            "no checkpoint includes offset \(position.offset) of partition \(position.partition) of \(topic.name) yet; is its job running?"
        )
      }
      try await Task.sleep(for: .milliseconds(1))
    }
  }
}
