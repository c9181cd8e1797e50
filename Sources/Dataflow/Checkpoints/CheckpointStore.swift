public import LMDB
import Synchronization
public import Tables

/// The one writer of a state file: every job's checkpoints, and whatever else is written there, go through its thread.
///
/// All epochs that wait, of all jobs, are committed in one transaction with one sync. Any thread may call; `close` it
/// when the store is closed.
public final class CheckpointStore: Sendable {
  /// The named databases that it needs in the environment.
  public static let databases = JobCatalogue.databases

  /// How often a commit that failed for want of room is tried again, and how long after.
  public struct Retry: Sendable, Hashable {
    public var attempts: Int
    public var pause: Duration
    public init(attempts: Int = 3, pause: Duration = .milliseconds(50)) {
      self.attempts = attempts
      self.pause = pause
    }
  }

  public let environment: Environment
  public let tables: TableSpace
  /// Reads what the file knows of jobs.
  public let catalogue: JobCatalogue
  let retry: Retry
  let readers: Mutex<ReaderWatch>
  let clock: any RuntimeClock
  private let writer: PinnedThread
  private let waiting = Mutex<[SealedEpoch]>([])
  /// The jobs that run, with what each of them alone may write.
  private let running = Mutex<[String: [String]]>([:])

  /// - Parameters:
  ///   - maximumGrowth: bytes by which the file may grow while an old reader keeps merging from going on; beyond it
  ///     checkpoints fail with the reader's process named, until it is gone.
  ///   - clock: tells how old readers are.
  /// - Throws: `LMDBError.notFound` if the environment was opened without `databases`.
  public init(
    environment: Environment, tables: TableSpace, retry: Retry = Retry(), maximumGrowth: Int = 4 << 30,
    clock: any RuntimeClock = SystemClock()
  ) throws {
    readers = Mutex(ReaderWatch(limits: ReaderWatch.Limits(maximumGrowth: maximumGrowth)))
    self.clock = clock
    self.environment = environment
    self.tables = tables
    self.retry = retry
    catalogue = try JobCatalogue(environment)
    writer = PinnedThread(name: "millrace-state")
  }

  /// Waits for what was submitted and ends the thread.
  public func close() { writer.stop() }

  /// Runs `body` in a transaction of its own on the writer thread and waits for its commit. Blocks the calling thread:
  /// not for the cooperative pool, and not from the writer thread.
  public func write<R: Sendable>(_ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R) throws -> R {
    let environment = environment
    return try writer.sync { try environment.write(body) }
  }

  /// As `write`, suspending instead of blocking.
  public func write<R: Sendable>(
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R
  ) async throws -> R {
    let environment = environment
    return try await withCheckedThrowingContinuation { continuation in
      let taken = writer.async { continuation.resume(with: Result { try environment.write(body) }) }
      if !taken { continuation.resume(throwing: Self.closed) }
    }
  }

  /// Waits until everything submitted before is committed or failed.
  func settle() { try? writer.sync {} }

  /// Gives an epoch to the writer.
  func submit(_ epoch: SealedEpoch) {
    waiting.withLock { $0.append(epoch) }
    let taken = writer.async { [self] in
      let epochs = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      if !epochs.isEmpty { commit(epochs) }
    }
    if !taken { epoch.completed(.failure(Self.closed)) }
  }

  static var closed: DataflowError {
    DataflowError(.stopped, "checkpoint store", "it was closed; open the store again")
  }

  /// Claims the right to run `job`, and to write what it owns.
  func begin(_ job: String, owning resources: [String] = []) throws(DataflowError) {
    let refusal = running.withLock { running -> DataflowError? in
      if running[job] != nil {
        return DataflowError(.alreadyRunning, job, "a job of this name is running in this process; stop it first")
      }
      for resource in resources {
        guard let owner = running.first(where: { $0.value.contains(resource) })?.key else { continue }
        return DataflowError(
          .duplicateOwner, resource,
          "job \(job) would write it, as job \(owner) does, which is running; only one may: stop the other, or write "
            + "something else")
      }
      running[job] = resources
      return nil
    }
    if let refusal { throw refusal }
  }

  func end(_ job: String) { running.withLock { _ = $0.removeValue(forKey: job) } }

  /// The running job that alone may write `resource`.
  public func owner(of resource: String) -> String? {
    running.withLock { running in running.first { $0.value.contains(resource) }?.key }
  }
}
