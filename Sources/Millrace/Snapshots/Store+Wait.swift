public import EventLog
import LMDB

extension Store {
  /// Waits until every job that reads `topic` has a checkpoint that includes the record at `position`: what is read
  /// afterwards knows of it (read your writes). Jobs that never ran are not waited for; jobs that are stopped are.
  /// Works in a store opened for reading, too.
  ///
  /// - Throws: `StoreError.timedOut`, retriable; `CancellationError`.
  public func waitFor<Event>(
    _ position: LogPosition, in topic: Topic<Event>, timeout: Duration = .seconds(10)
  ) async throws {
    try requireOpen()
    let deadline = ContinuousClock.now + timeout
    var seen = -1
    var late: [String] = []
    while true {
      let transaction = environment.lastTransactionID
      if transaction != seen {
        seen = transaction
        let readers = try jobs().filter { $0.sources[topic.name] != nil }
        late = readers.filter { job in
          guard let partitions = job.sources[topic.name], position.partition < partitions.count else { return true }
          return partitions[position.partition].position <= position.offset
        }.map(\.name)
        if late.isEmpty && !readers.isEmpty { return }
      }
      if ContinuousClock.now >= deadline {
        let who = late.isEmpty ? "no job reads the topic" : "not yet included by \(late.joined(separator: ", "))"
        throw StoreError(
          .timedOut, path: path,
          detail: "offset \(position.offset) of partition \(position.partition) of topic \(topic.name): \(who); "
            + "run the job, or wait longer")
      }
      try await Task.sleep(for: .milliseconds(1))
    }
  }
}
