import Bytes
import LMDB
import Tables

/// What a run begins with.
struct RecoveredJob: Sendable {
  let record: JobRecord
  let tables: [String: TableID]
}

extension CheckpointStore {
  /// Every job's record as of the last commit.
  public func jobs() throws -> [JobRecord] { try environment.read { try catalogue.jobs(in: $0) } }

  /// The record of the job called `name` as of the last commit.
  public func job(_ name: String) throws -> JobRecord? { try environment.read { try catalogue.job(name, in: $0) } }

  /// The number of the last committed checkpoint.
  public func lastCheckpoint() throws -> UInt64 { try environment.read { try catalogue.lastCheckpoint(in: $0) } }

  /// Forgets positions and state of the job called `name`, which must not run: its next run begins at the start, as a
  /// new incarnation. What its sinks wrote stays. Blocks for a commit.
  public func reset(_ name: String) throws {
    try begin(name)
    defer { end(name) }
    try write { [self] transaction in
      guard var record = try catalogue.job(name, in: transaction) else { return }
      for state in record.states { try tables.drop(TableID(value: state.table), in: transaction) }
      record.states = []
      record.sources = [:]
      record.watermarks = [:]
      record.epoch = 0
      record.status = .running
      record.incarnation += 1
      try catalogue.put(record, in: transaction)
    }
  }

  /// Finds or makes the job's record and its states' tables; refuses what does not fit the store.
  func register(_ job: Job, _ options: RunOptions) throws -> RecoveredJob {
    try write { [self] transaction in
      var record: JobRecord
      let before = try catalogue.job(job.name, in: transaction)
      if let before {
        record = before
      } else {
        var figures = try catalogue.figures(in: transaction)
        record = JobRecord(new: job.name, id: figures.nextJob)
        figures.nextJob += 1
        try catalogue.put(figures, in: transaction)
      }
      if record.status == .drained {
        throw DataflowError(
          .drained, job.name, "it was drained: all that waited has been fired, so more input would be wrong; reset it")
      }
      var mapping = StateMapping(job: job, record: record, options: options)
      try mapping.check()
      for state in mapping.dropped { try tables.drop(TableID(value: state.table), in: transaction) }
      record.states = mapping.kept
      for declaration in mapping.added {
        let table = try tables.create(in: transaction)
        record.states.append(JobRecord.State(declaration: declaration, table: table.value))
      }
      record.sources = record.sources.filter { !options.dropping.contains($0.key) || job.sourceNames.contains($0.key) }
      record.status = .running
      if record != before { try catalogue.put(record, in: transaction) }
      var tables: [String: TableID] = [:]
      for state in record.states { tables[state.declaration.name] = TableID(value: state.table) }
      return RecoveredJob(record: record, tables: tables)
    }
  }
}

extension JobRecord {
  init(new name: String, id: UInt64) {
    self.init(
      name: name, id: id, incarnation: 1, status: .running, epoch: 0, checkpoint: 0, time: .min, parallelism: 0,
      states: [], sources: [:], watermarks: [:])
  }
}
