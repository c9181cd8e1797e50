import Bytes
import Dataflow
import EventLog
import LMDB
import Synchronization

/// Brings what jobs send from the checkpoint that holds it into the log, exactly once.
///
/// A checkpoint stores outgoing records as rows with their sequences; the drainer appends each row, in order per
/// partition, as an idempotent producer (a repeat after a crash is dropped by the log); a later commit removes the rows.
/// Records become visible in their topic only after the checkpoint that made them is durable.
final class Outbox: Sendable {
  let database: Database
  private let environment: Environment
  private let checkpoints: CheckpointStore
  private let log: EventLog
  private let thread = PinnedThread(name: "millrace-outbox")
  private let state = Mutex(State())

  private struct State {
    /// Rows that are durable in the log and not yet removed.
    var drained: Set<[UInt8]> = []
    var isAwake = false
    var failure: (any Error)?
  }

  /// Bytes of rows brought over at once.
  private static let bytesPerRound = 16 << 20

  init(_ checkpoints: CheckpointStore, _ log: EventLog) throws {
    environment = checkpoints.environment
    self.checkpoints = checkpoints
    self.log = log
    database = try environment.database("outbox")
  }

  /// Has the drainer look for rows; returns at once.
  func wake() {
    let isFirst = state.withLock { state in
      defer { state.isAwake = true }
      return !state.isAwake
    }
    if isFirst { thread.async { [self] in drain() } }
  }

  /// Removes, in the checkpoint's transaction, what has been drained. On the writer thread.
  func removeDrained(in transaction: borrowing WriteTransaction) throws {
    // Forgetting a row whose removal is then rolled back only means that it is drained, and dropped, once more.
    let keys = state.withLock { $0.drained }
    for key in keys { try unsafe key.withUnsafeBytes { _ = try unsafe transaction.delete(database, key: $0) } }
  }

  /// Waits until every committed row is durable in its topic, and removes the rows.
  ///
  /// - Throws: what kept a row from being appended; it stays and is tried again at the next call, or open.
  func settle() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      let taken = thread.async { [self] in
        drain()
        let failure = state.withLock { $0.failure }
        if let failure { continuation.resume(throwing: failure) } else { continuation.resume() }
      }
      if !taken { continuation.resume(throwing: StoreError(.closed, path: environment.path, detail: "it was closed")) }
    }
    if state.withLock({ $0.drained.isEmpty }) { return }
    try await checkpoints.write { [self] transaction in try removeDrained(in: transaction) }
    try forgetRemoved()
  }

  func close() { thread.stop() }

  // MARK: - On the drainer's thread

  private struct Row: Sendable {
    var key: [UInt8]
    var lane: OutboxKeys.Lane
    var sequence: Int64
    var topic: String
    var records: [NewRecord]
  }

  private func drain() {
    state.withLock { state in
      state.isAwake = false
      state.failure = nil
    }
    do {
      try forgetRemoved()
      while true {
        let rows = try nextRows()
        if rows.isEmpty { return }
        try appendBlocking(rows)
      }
    } catch {
      state.withLock { $0.failure = error }
    }
  }

  /// Drops from memory the keys that a commit has removed.
  private func forgetRemoved() throws {
    let keys = state.withLock { $0.drained }
    if keys.isEmpty { return }
    let gone = try environment.read { transaction in
      try keys.filter { key in try unsafe key.withUnsafeBytes { try unsafe transaction.get(database, $0) == nil } }
    }
    state.withLock { $0.drained.subtract(gone) }
  }

  /// The oldest rows that are not drained yet, in order.
  private func nextRows() throws -> [Row] {
    let drained = state.withLock { $0.drained }
    return try environment.read { transaction in
      var rows: [Row] = []
      var bytes = 0
      var topics: [UInt64: String] = [:]
      try transaction.withCursor(database) { cursor in
        let start = OutboxKeys.rows
        var isFound = try unsafe start.withUnsafeBytes { try unsafe cursor.seek(atLeast: $0) }
        while isFound, bytes < Self.bytesPerRound, let (lane, sequence) = unsafe OutboxKeys.parseRow(cursor.key) {
          let key = unsafe [UInt8](cursor.key)
          if !drained.contains(key) {
            guard let records = unsafe OutboxRow.decode(cursor.value) else {
              throw StoreError(
                .io, path: environment.path,
                detail:
                  "an outgoing row of producer \(lane.producer) from sequence \(sequence) is damaged; restore a backup")
            }
            unsafe bytes += cursor.value.count
            let topic = try topics[lane.producer] ?? topicName(lane.producer, transaction)
            topics[lane.producer] = topic
            rows.append(Row(key: key, lane: lane, sequence: sequence, topic: topic, records: records))
          }
          isFound = try cursor.next()
        }
      }
      return rows
    }
  }

  private func topicName(_ producer: UInt64, _ transaction: borrowing ReadTransaction) throws -> String {
    let key = OutboxKeys.producer(producer)
    let name = try unsafe key.withUnsafeBytes { key in
      try unsafe transaction.get(database, key).map { String(decoding: unsafe [UInt8]($0), as: UTF8.self) }
    }
    guard let name else {
      throw StoreError(
        .io, path: environment.path, detail: "the outbox does not name the topic of producer \(producer)")
    }
    return name
  }

  /// Appends the rows, lanes side by side, each in order; waits for all.
  private func appendBlocking(_ rows: [Row]) throws {
    let lanes = Dictionary(grouping: rows, by: \.lane).values.map { $0 }
    let done = Semaphore()
    let failure = FirstFailure()
    Task { [self] in
      await withTaskGroup(of: Void.self) { group in
        for lane in lanes {
          group.addTask { [self] in
            do {
              for row in lane { try await append(row) }
            } catch {
              failure.note(error)
            }
          }
        }
      }
      done.signal()
    }
    done.wait()
    try failure.throwIfAny()
  }

  private func append(_ row: Row) async throws {
    let topic = try log.topic(row.topic)
    do {
      _ = try await topic.appendIdempotent(
        row.records, partition: Int(row.lane.partition),
        producer: ProducerID(id: row.lane.producer, epoch: row.lane.epoch), sequence: row.sequence)
    } catch let error as EventLogError where error.code == .fenced {
      // A newer incarnation of the job has taken over: what the older one still had to send must not appear.
    }
    state.withLock { _ = $0.drained.insert(row.key) }
  }
}

/// The first error of several tasks.
private final class FirstFailure: Sendable {
  private let error = Mutex<(any Error)?>(nil)

  func note(_ error: any Error) { self.error.withLock { $0 = $0 ?? error } }

  func throwIfAny() throws {
    if let error = error.withLock({ $0 }) { throw error }
  }
}
