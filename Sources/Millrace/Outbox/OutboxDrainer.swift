import Bytes
import Dataflow
import EventLog
import LMDB
import Synchronization

/// Reads the outbox's rows and appends them to their topics. On the outbox's thread.
struct OutboxDrainer: Sendable {
  /// A row on its way.
  struct Row: Sendable {
    var key: [UInt8]
    var lane: OutboxKeys.Lane
    var sequence: Int64
    var target: OutboxTarget
    var records: [NewRecord]
  }

  /// Rows to be appended, and the producers that cannot go on, with the reason.
  struct Round {
    var rows: [Row] = []
    var stuck: [UInt64: any Error]
  }

  /// What became of a round's rows.
  struct Outcome {
    /// The keys of the rows that need not be appended any more.
    var done: [[UInt8]] = []
    var stuck: [UInt64: any Error] = [:]
  }

  /// Bytes of rows brought over at once: bounds the memory that a backlog takes.
  private static let bytesPerRound = 16 << 20

  private let environment: Environment
  private let database: Database
  private let log: EventLog

  init(_ environment: Environment, _ database: Database, _ log: EventLog) {
    self.environment = environment
    self.database = database
    self.log = log
  }

  /// The oldest rows, in order, that are not in `drained` and whose producer is not stuck.
  func next(except drained: Set<[UInt8]>, stuck: [UInt64: any Error]) throws -> Round {
    try environment.read { transaction in
      var round = Round(stuck: stuck)
      var bytes = 0
      var targets: [UInt64: OutboxTarget] = [:]
      try transaction.withCursor(database) { cursor in
        let start = OutboxKeys.rows
        var isFound = try unsafe start.withUnsafeBytes { try unsafe cursor.seek(atLeast: $0) }
        while isFound, bytes < Self.bytesPerRound, let (lane, sequence) = unsafe OutboxKeys.parseRow(cursor.key) {
          let key = unsafe [UInt8](cursor.key)
          if round.stuck[lane.producer] == nil && !drained.contains(key) {
            do {
              let target = try targets[lane.producer] ?? target(lane.producer, transaction)
              targets[lane.producer] = target
              guard let records = unsafe OutboxRow.decode(cursor.value) else {
                throw damaged("a row for topic \(target.topic), sequence \(sequence), does not match its checksum")
              }
              unsafe bytes += cursor.value.count
              round.rows.append(Row(key: key, lane: lane, sequence: sequence, target: target, records: records))
            } catch {
              round.stuck[lane.producer] = error
            }
          }
          isFound = try cursor.next()
        }
      }
      return round
    }
  }

  private func target(_ producer: UInt64, _ transaction: borrowing ReadTransaction) throws -> OutboxTarget {
    let key = OutboxKeys.producer(producer)
    let target = try unsafe key.withUnsafeBytes { key in
      try unsafe transaction.get(database, key).flatMap { unsafe OutboxTarget($0) }
    }
    guard let target else { throw damaged("it does not name the topic of producer \(producer)") }
    return target
  }

  private func damaged(_ what: String) -> StoreError {
    StoreError(
      .io, path: environment.path, detail: "the outbox is damaged: \(what); run `millrace verify`, restore a backup")
  }

  /// Appends the rows, partitions side by side so that they share syncs, each in order; waits for all.
  func append(_ rows: [Row]) -> Outcome {
    // Rows of an older incarnation come before those of a newer one, which would fence them.
    let lanes = Dictionary(grouping: rows) { [$0.lane.producer, UInt64($0.lane.partition)] }.values.map { $0 }
    let ended = Semaphore()
    let shared = Shared()
    Task { [self] in
      await withTaskGroup(of: Void.self) { group in
        for lane in lanes { group.addTask { [self] in await append(lane: lane, shared) } }
      }
      ended.signal()
    }
    ended.wait()
    return shared.outcome.withLock { $0 }
  }

  /// What the tasks of a round have in common.
  private final class Shared: Sendable {
    let outcome = Mutex(Outcome())
  }

  private func append(lane rows: [Row], _ shared: Shared) async {
    for row in rows {
      do {
        try await append(row)
        shared.outcome.withLock { $0.done.append(row.key) }
      } catch {
        return shared.outcome.withLock { $0.stuck[row.lane.producer] = error }
      }
    }
  }

  private func append(_ row: Row) async throws {
    do {
      let topic = try log.topic(row.target.topic)
      // A topic deleted since has taken with it what was on its way to it, also if there is another of its name.
      if topic.id != row.target.id { return }
      _ = try await topic.appendIdempotent(
        row.records, partition: Int(row.lane.partition),
        producer: ProducerID(id: row.lane.producer, epoch: row.lane.epoch), sequence: row.sequence)
    } catch let error as EventLogError
      where error.code == .fenced || error.code == .unknownTopic || error.code == .topicDeleted
    {
      // Fenced: a newer incarnation of the job has taken over; what the older one still had to send must not appear.
    }
  }
}
