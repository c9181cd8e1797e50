import Bytes
import Synchronization

/// How a run ends with an epoch.
enum EpochEnd: Sendable, Hashable {
  /// Another epoch follows.
  case goesOn
  case stop
  case drain
}

/// What one subtask hands over at a barrier.
struct SubtaskSeal: Sendable {
  var parts: [any SealedPart] = []
  /// By source name: partition index and where it stands.
  var sources: [String: [(index: Int, partition: JobRecord.Partition)]] = [:]
  /// Event time of the operators, by name.
  var watermarks: [String: Timestamp] = [:]
}

/// A whole epoch of a job: everything that one transaction must make durable together. Immutable.
struct SealedEpoch: Sendable {
  let job: String
  let number: UInt64
  let end: EpochEnd
  let parallelism: Int
  let parts: [any SealedPart]
  let sources: [String: [JobRecord.Partition]]
  let watermarks: [String: Timestamp]
  let time: Timestamp
  /// Returns once the sources' positions are durable.
  let ensureDurable: @Sendable () throws -> Void
  /// The run whose epochs must be committed in order or not at all.
  let lane: CommitLane
  /// Told once, on the writer thread.
  let completed: @Sendable (Result<UInt64, any Error>) -> Void
}

/// One run's epochs at the writer: after one failed, none of the later ones may be committed.
final class CommitLane: Sendable {
  private let first = Mutex<(any Error)?>(nil)

  /// Why the first epoch that failed did.
  var failure: (any Error)? { first.withLock { $0 } }

  func fail(_ error: any Error) { first.withLock { if $0 == nil { $0 = error } } }
}
