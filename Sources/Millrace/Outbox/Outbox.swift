import Dataflow
import EventLog
import LMDB
import Synchronization

/// Brings what jobs send from the checkpoint that holds it into the log, exactly once.
///
/// A checkpoint stores outgoing records as rows with their sequences; the drainer appends each row, in order per
/// partition, as an idempotent producer (a repeat after a crash is dropped by the log); a later commit removes the
/// rows. Records become visible in their topic only after the checkpoint that made them is durable.
final class Outbox: Sendable {
  let database: Database
  private let environment: Environment
  private let checkpoints: CheckpointStore
  private let drainer: OutboxDrainer
  private let thread = PinnedThread(name: "millrace-outbox")
  private let state = Mutex(State())

  private struct State {
    /// Rows that are durable in the log and not yet removed: no more of them than there are rows in the file.
    var drained: Set<[UInt8]> = []
    var isAwake = false
    /// What keeps a producer's rows from being appended, until they are.
    var failures: [UInt64: any Error] = [:]
    /// What keeps all rows from being read.
    var failure: (any Error)?
    /// The jobs of the producers that were opened here.
    var jobs: [UInt64: String] = [:]
  }

  init(_ checkpoints: CheckpointStore, _ log: EventLog) throws {
    environment = checkpoints.environment
    self.checkpoints = checkpoints
    database = try environment.database("outbox")
    drainer = OutboxDrainer(environment, database, log)
  }

  /// Has the drainer look for rows; returns at once.
  func wake() {
    let isFirst = state.withLock { state in
      defer { state.isAwake = true }
      return !state.isAwake
    }
    if isFirst { thread.async { [self] in drain() } }
  }

  /// A run of `job` begins to send as `producer`: what kept its rows waiting is tried again.
  func open(_ producer: UInt64, job: String) {
    let hasFailed = state.withLock { state in
      state.jobs[producer] = job
      return state.failures.removeValue(forKey: producer) != nil || state.failure != nil
    }
    if hasFailed { wake() }
  }

  /// Throws what keeps the rows of `producer` from their topic: its job must not go on to pile up more of them.
  func refuseIfStuck(_ producer: UInt64) throws {
    if let failure = state.withLock({ $0.failures[producer] ?? $0.failure }) { throw failure }
  }

  /// Everything that keeps rows waiting, whoever made them.
  var failures: [any Error] { state.withLock { ($0.failure.map { [$0] } ?? []) + $0.failures.values } }

  /// Removes, in a transaction, what has been drained. On the writer thread.
  func removeDrained(in transaction: borrowing WriteTransaction) throws {
    // The keys are kept until a commit without their rows is seen: this transaction may yet be rolled back.
    for key in state.withLock({ $0.drained }) {
      try unsafe key.withUnsafeBytes { _ = try unsafe transaction.delete(database, key: $0) }
    }
  }

  /// Waits until every committed row is durable in its topic, and removes the rows.
  ///
  /// - Throws: what kept a row of `job` from being appended; it stays and is tried again later.
  func settle(job: String) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      let taken = thread.async { [self] in
        drain()
        continuation.resume(with: Result { try throwFailure(of: job) })
      }
      if !taken { continuation.resume(throwing: StoreError(.closed, path: environment.path, detail: "it was closed")) }
    }
    if state.withLock({ $0.drained.isEmpty }) { return }
    try await checkpoints.write { [self] transaction in try removeDrained(in: transaction) }
    try forgetRemoved()
  }

  /// Tries again what failed and removes what lies in the file needlessly. Blocks; for the store's maintenance.
  func maintain() throws {
    let (hasFailed, hasDrained) = state.withLock {
      ($0.failure != nil || !$0.failures.isEmpty, !$0.drained.isEmpty)
    }
    if hasFailed { wake() }
    if hasDrained {
      try checkpoints.write { [self] transaction in try removeDrained(in: transaction) }
      try forgetRemoved()
    }
  }

  func close() { thread.stop() }

  private func throwFailure(of job: String) throws {
    let failure = state.withLock { state in
      state.failure ?? state.failures.first { state.jobs[$0.key] == job }?.value
    }
    if let failure { throw failure }
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

  /// Appends all rows that there are. On the drainer's thread. What fails stays, and holds up its own producer only.
  private func drain() {
    state.withLock { $0.isAwake = false }
    var stuck: [UInt64: any Error] = [:]
    do {
      try forgetRemoved()
      while true {
        // The keys first, then the snapshot: one that is forgotten meanwhile is not in it either.
        let round = try drainer.next(except: state.withLock { $0.drained }, stuck: stuck)
        stuck = round.stuck
        if round.rows.isEmpty { break }
        let outcome = drainer.append(round.rows)
        state.withLock { $0.drained.formUnion(outcome.done) }
        stuck.merge(outcome.stuck) { first, _ in first }
      }
      state.withLock { state in
        state.failures = stuck
        state.failure = nil
      }
    } catch {
      state.withLock { state in
        state.failures.merge(stuck) { _, new in new }
        state.failure = error
      }
    }
  }
}
