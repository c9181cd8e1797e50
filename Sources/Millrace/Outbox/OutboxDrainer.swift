import Bytes
import Dataflow
import EventLog
import LMDB

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
  ///
  /// On this thread alone: tasks would wait for the cooperative pool, all of whose threads may wait in `Store.close`
  /// for what is done here.
  func append(_ rows: [Row]) -> Outcome {
    // Rows of an older incarnation come before those of a newer one, which would fence them.
    var lanes = Dictionary(grouping: rows) { [$0.lane.producer, UInt64($0.lane.partition)] }.values.map { $0[...] }
    var outcome = Outcome()
    while !lanes.isEmpty {
      let begun = lanes.map { lane in lane.first.map { row in (row, Result { try begin(row) }) } }
      for (index, pair) in begun.enumerated() {
        guard let (row, pending) = pair else { continue }
        do {
          try finish(pending)
          outcome.done.append(row.key)
          lanes[index].removeFirst()
        } catch {
          outcome.stuck[row.lane.producer] = error
          lanes[index] = []
        }
      }
      lanes.removeAll { $0.isEmpty }
    }
    return outcome
  }

  /// Gives a row to its topic's writer; nil if there is nothing to wait for.
  private func begin(_ row: Row) throws -> PendingAppend? {
    let topic = try log.topic(row.target.topic)
    // A topic deleted since has taken with it what was on its way to it, also if there is another of its name.
    if topic.id != row.target.id { return nil }
    return try topic.beginIdempotent(
      row.records, partition: Int(row.lane.partition),
      producer: ProducerID(id: row.lane.producer, epoch: row.lane.epoch), sequence: row.sequence)
  }

  /// Waits until the row is durable, or need not be any more.
  private func finish(_ pending: Result<PendingAppend?, any Error>) throws {
    do {
      _ = try pending.get()?.wait()
    } catch let error as EventLogError
      where error.code == .fenced || error.code == .unknownTopic || error.code == .topicDeleted
    {
      // Fenced: a newer incarnation of the job has taken over; what the older one still had to send must not appear.
    }
  }
}
