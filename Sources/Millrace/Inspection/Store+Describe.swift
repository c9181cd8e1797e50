import Bytes
import Dataflow
import EventLog
import LMDB
import Records
import Tables
import Views

extension Store {
  /// What the store holds: topics, jobs, views and its state file. Reads on the calling thread; what cannot be read is
  /// named in `problems` and the rest described.
  ///
  /// - Parameter countingRows: whether rows of views are counted, which reads the keys of what is not merged yet.
  public func describe(countingRows: Bool = true) throws -> StoreDescription {
    // Before our own snapshot, which is nobody's concern.
    let readers = environment.openReaders()
    let oldest = environment.oldestReaderAge
    var description = try read { snapshot in
      try StoreDescription(
        path: path, checkpoint: snapshot.checkpoint,
        stateFile: stateFileDescription(readers, oldest), topics: [], jobs: jobDescriptions(snapshot),
        views: snapshot.viewDefinitions.sorted { $0.name < $1.name }.map {
          try viewDescription($0, snapshot, countingRows: countingRows)
        })
    }
    // After the snapshot: no job is ahead of what is described.
    description.topics = try topicDescriptions()
    description.fillLags()
    return description
  }

  private func stateFileDescription(
    _ readers: [Environment.Reader], _ oldestAge: Int?
  ) -> StoreDescription.StateFile {
    let usage = environment.usage
    // A reader's own map says nothing of the writer's; the file does.
    let limit = isWritable ? usage.mapSize : MetaPages(path: environment.path)?.newest.mapSize ?? usage.mapSize
    return StoreDescription.StateFile(
      bytes: usage.bytesUsed, mapLimit: limit, transaction: usage.lastTransactionID,
      readers: readers.map {
        StoreDescription.Reader(
          processID: $0.processID, commitsBehind: max(0, usage.lastTransactionID - $0.transactionID))
      }, oldestOwnReaderAge: oldestAge)
  }
}

// MARK: - Topics

extension Store {
  private func topicDescriptions() throws -> [StoreDescription.Topic] {
    var topics: [StoreDescription.Topic] = []
    for name in try log.topicNames() {
      do {
        topics.append(try topicDescription(name))
      } catch let error as EventLogError where error.code == .unknownTopic || error.code == .topicDeleted {
        continue
      } catch {
        topics.append(
          StoreDescription.Topic(
            name: name, id: 0, partitions: [], segments: [], bytes: 0, records: 0, schemas: [], problems: ["\(error)"]))
      }
    }
    return topics
  }

  private func topicDescription(_ name: String) throws -> StoreDescription.Topic {
    let found = try log.topic(name).describe()
    var problems: [String] = []
    for segment in found.segments where segment.bytes == nil {
      problems.append("the file \(segment.path) is missing; restore it from a backup")
    }
    var schemas: [Schema] = []
    do { schemas = try self.schemas(ofTopic: found.id) } catch { problems.append("\(error)") }
    return StoreDescription.Topic(
      name: name, id: found.id,
      partitions: found.partitions.map {
        StoreDescription.Partition(partition: $0.partition, startOffset: $0.startOffset, endOffset: $0.endOffset)
      },
      segments: found.segments.map {
        StoreDescription.Segment(
          number: $0.number, isSealed: $0.isSealed, createdAt: $0.createdAt, bytes: $0.bytes, path: $0.path)
      }, bytes: found.bytes, records: found.records, schemas: schemas.map(\.description), problems: problems)
  }

  /// The schemas of a topic's values by their numbers.
  func schemas(ofTopic id: UInt64) throws -> [Schema] {
    let catalogue = try TopicCatalogue(environment)
    return try environment.read { try catalogue.schemas(of: id, in: $0) }
  }
}

// MARK: - Jobs

extension Store {
  private func jobDescriptions(_ snapshot: Snapshot) throws -> [StoreDescription.Job] {
    try snapshot.jobs.map { job in
      try StoreDescription.Job(
        name: job.name, incarnation: job.incarnation, status: "\(job.status)", epoch: job.epoch,
        checkpoint: job.checkpoint, checkpointAt: job.time.known, parallelism: job.parallelism,
        sources: job.sources.sorted { $0.key < $1.key }.map { StoreDescription.Source($0.key, $0.value) },
        watermarks: job.watermarks.sorted { $0.key < $1.key }.map {
          StoreDescription.Watermark(name: $0.key, time: $0.value.known)
        }, states: job.states.map { try stateDescription($0, snapshot) })
    }
  }

  private func stateDescription(_ state: JobRecord.State, _ snapshot: Snapshot) throws -> StoreDescription.State {
    var described = StoreDescription.State(
      name: state.declaration.name, kind: state.declaration.kind.rawValue, approximateEntries: 0, bytes: 0, runs: 0)
    do {
      try snapshot.viewSnapshot.withTransaction { transaction in
        let reader = try tables.reader(TableID(value: state.table), in: transaction)
        described.approximateEntries = reader.approximateCount
        described.bytes = reader.byteCount
        described.runs = reader.runs.count
      }
    } catch let error as TableError {
      described.problem = "state \(described.name): \(error)"
    }
    return described
  }
}

extension StoreDescription.Source {
  init(_ name: String, _ partitions: [JobRecord.Partition]) {
    self.init(
      name: name,
      partitions: partitions.enumerated().map { index, partition in
        StoreDescription.SourcePartition(
          partition: index, position: partition.position, watermark: partition.watermark.known,
          isIdle: partition.isIdle)
      })
  }
}

extension StoreDescription {
  /// Compares positions with the ends of the topics that they are of.
  mutating func fillLags() {
    let ends = Dictionary(
      topics.map { ($0.name, $0.partitions.map(\.endOffset)) }, uniquingKeysWith: { first, _ in first })
    for job in jobs.indices {
      for source in jobs[job].sources.indices {
        guard let ends = ends[jobs[job].sources[source].name], !ends.isEmpty else { continue }
        var sum: Int64 = 0
        for index in jobs[job].sources[source].partitions.indices where index < ends.count {
          let lag = max(0, ends[index] - jobs[job].sources[source].partitions[index].position)
          jobs[job].sources[source].partitions[index].lag = lag
          sum = sum.saturatingAdd(lag)
        }
        jobs[job].sources[source].lag = sum
      }
    }
  }
}

extension Timestamp {
  /// Nil for the earliest time, which stands for "not known yet".
  var known: Timestamp? { self == .min ? nil : self }
}

// MARK: - Views

extension Store {
  private func viewDescription(
    _ definition: ViewDefinition, _ snapshot: Snapshot, countingRows: Bool
  ) throws -> StoreDescription.View {
    func names(_ ids: [UInt32]) -> [String] { ids.compactMap { definition.column(id: $0)?.name } }
    var described = StoreDescription.View(
      name: definition.name,
      columns: definition.columns.map {
        StoreDescription.Column(
          name: $0.name, type: "\($0.type)", isOptional: $0.isOptional, isKey: $0.id == definition.key.id)
      }, indexes: definition.indexes.map { StoreDescription.Index(name: $0.name, columns: names($0.columns)) },
      families: definition.families.map { family in
        StoreDescription.Family(
          id: family.id, columns: definition.columns.filter { $0.family == family.id }.map(\.name))
      }, bytes: 0)
    do {
      let reader = try snapshot.dynamic(definition.name)
      described.bytes = try reader.byteCount()
      if countingRows { described.rows = try reader.rowCount() }
    } catch {
      // Running out of readers, or of time, is not the view's fault.
      if error is LMDBError { throw error }
      described.problem = "\(error)"
    }
    return described
  }
}
