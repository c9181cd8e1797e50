import Dataflow
import EventLog
import LMDB
import Records
import Tables
import Views

extension Store {
  /// Reads everything and checks it: the pages of every file, the checksums of log, state and views, that no offset is
  /// missing, that keys are in order, that every index holds what a scan of its view says.
  ///
  /// Damage is listed, not thrown. Works beside a running writer, on one snapshot of state and views; blocks the
  /// calling thread for as long as reading takes (about a second per gigabyte that is in memory, plus the sorting of
  /// indexes).
  ///
  /// - Throws: errors that keep it from going on, as no reader slot, or a log catalogue that cannot be read.
  public func verify(progress: (VerificationProgress) -> Void = { _ in }) throws -> StoreVerification {
    var found = StoreVerification()
    let pages = try withoutActuallyEscaping(progress) { try verifyPages(into: &found, $0) }
    try verifyLog(pages, into: &found, progress)
    try verifyState(pages, into: &found, progress)
    return found
  }

  // MARK: - Pages

  /// Walks the pages of all files; what is damaged there must not be walked by LMDB.
  private func verifyPages(
    into found: inout StoreVerification, _ progress: @escaping (VerificationProgress) -> Void
  ) throws -> DamagedPages {
    var damaged = DamagedPages()
    let total = environment.usage.bytesUsed + Folders.size(of: log.directory)
    var done = 0
    func check(_ path: String, _ subject: String, _ environment: Environment?) throws -> [PageDamage] {
      let before = done
      let result = try PageWalk.run(path, environment) { pages in
        progress(VerificationProgress(stage: .pages, bytes: before + pages * 4096, totalBytes: total))
      }
      found.pages += result.pages
      done += result.pages * 4096
      for damage in result.damages {
        found.damages.append(.init(damage, subject, path))
      }
      return result.damages
    }
    damaged.state = Set(try check(environment.path, "state file", environment).map(\.database))
    // By the files, not by the log: that would look into the live segments before they are known to be sound.
    for name in try log.topicNames() {
      guard let topic = try? log.topic(name) else { continue }
      let folder = log.directory + "/" + name
      let files = Folders.names(in: folder).filter { $0.hasSuffix(".mdb") }
      for file in files {
        let path = folder + "/" + file
        let isLast = file == files.last
        // A sealed segment never changes; the live one, the last, is pinned.
        let mapSize = topic.options.segmentBytes * 2 + (256 << 20)
        let live = isLast ? try? Environment.open(at: path, .init(mapSize: mapSize, access: .readOnly)) : nil
        if try check(path, "topic \(name), segment \(file)", live).isEmpty { continue }
        damaged.segments.insert(path)
        if isLast { damaged.topics.insert(name) }
      }
    }
    return damaged
  }

  // MARK: - Log

  private func verifyLog(
    _ pages: DamagedPages, into found: inout StoreVerification, _ progress: (VerificationProgress) -> Void
  ) throws {
    let total = Folders.size(of: log.directory)
    if pages.segments.isEmpty {
      let log = try log.verify {
        progress(VerificationProgress(stage: .log, bytes: $0.bytes, totalBytes: max(total, $0.bytes)))
      }
      found.topics = log.topics
      found.segments = log.segments
      found.batches = log.batches
      found.records = log.records
      found.logBytes = log.bytes
      found.damages += log.damages.map(StoreVerification.Damage.init)
    } else {
      var sound = SoundSegments(damaged: pages)
      try sound.verify(log) {
        progress(VerificationProgress(stage: .log, bytes: $0, totalBytes: max(total, $0)))
      }
      found.topics = sound.topics
      found.segments = sound.segments
      found.batches = sound.batches
      found.records = sound.records
      found.logBytes = sound.bytes
      found.damages += sound.damages
      for name in pages.topics.sorted() {
        found.unchecked.append("records of topic \(name): the pages of its live segment are damaged")
      }
    }
    for name in try log.topicNames() {
      guard let id = try? log.topic(name).id else { continue }
      do {
        _ = try schemas(ofTopic: id)
      } catch {
        found.damages.append(.init(subject: "schemas of topic \(name)", path: environment.path, detail: "\(error)"))
      }
    }
  }

  // MARK: - State and views

  private func verifyState(
    _ pages: DamagedPages, into found: inout StoreVerification, _ progress: (VerificationProgress) -> Void
  ) throws {
    guard pages.state.isEmpty else {
      found.unchecked.append("jobs, their states and all views: the pages of the state file are damaged")
      return
    }
    let total = environment.usage.bytesUsed
    var done = 0
    try read { snapshot in
      do {
        found.checkpoint = try snapshot.checkpoint
        for job in try snapshot.jobs {
          found.jobs += 1
          for state in job.states {
            try verify(state, of: job.name, snapshot, into: &found)
            done = found.stateBytes
            progress(VerificationProgress(stage: .state, bytes: done, totalBytes: total))
          }
        }
      } catch let error as DataflowError {
        found.damages.append(.init(subject: "catalogue of jobs", path: environment.path, detail: "\(error)"))
      }
      try verifyOutbox(snapshot, into: &found)
      for definition in snapshot.viewDefinitions {
        try verify(definition.name, snapshot, into: &found)
        done = found.stateBytes + found.views.reduce(0) { $0 + $1.bytes }
        progress(VerificationProgress(stage: .views, bytes: done, totalBytes: total))
      }
    }
  }

  private func verify(
    _ state: JobRecord.State, of job: String, _ snapshot: Snapshot, into found: inout StoreVerification
  ) throws {
    let subject = "job \(job), state \(state.declaration.name)"
    found.states += 1
    do {
      let report = try snapshot.viewSnapshot.withTransaction {
        try tables.verify(TableID(value: state.table), in: $0)
      }
      found.stateEntries += report.runEntries + report.blockEntries
      found.stateBytes += report.runBytes + report.blockBytes
      for damage in report.damages {
        found.damages.append(.init(subject: subject, path: environment.path, detail: "\(damage)"))
      }
    } catch let error as TableError {
      found.damages.append(.init(subject: subject, path: environment.path, detail: "\(error)"))
    }
  }

  private func verify(_ view: String, _ snapshot: Snapshot, into found: inout StoreVerification) throws {
    do {
      let report = try snapshot.viewSnapshot.verify(view)
      found.views.append(
        .init(
          name: view, rows: report.rows, groups: report.groups,
          indexEntries: report.indexEntries.values.reduce(0, +), bytes: report.bytes))
      for problem in report.problems {
        found.damages.append(.init(subject: "view \(view)", path: environment.path, detail: problem))
      }
    } catch {
      if error is LMDBError { throw error }
      found.damages.append(.init(subject: "view \(view)", path: environment.path, detail: "\(error)"))
    }
  }

  private func verifyOutbox(_ snapshot: Snapshot, into found: inout StoreVerification) throws {
    let database = outbox.database
    let (rows, damaged) = try snapshot.viewSnapshot.withTransaction { transaction in
      try transaction.withCursor(database) { cursor in
        var rows = 0
        var damaged: [String] = []
        var isThere = unsafe try OutboxKeys.rows.withUnsafeBytes { unsafe try cursor.seek(atLeast: $0) }
        while isThere, let row = unsafe OutboxKeys.parseRow(cursor.key) {
          rows += 1
          if unsafe OutboxRow.decode(cursor.value) == nil {
            damaged.append("the row of partition \(row.lane.partition), sequence \(row.sequence)")
          }
          isThere = try cursor.next()
        }
        return (rows, damaged)
      }
    }
    found.outboxRows = rows
    for place in damaged {
      found.damages.append(
        .init(subject: "outbox", path: environment.path, detail: "\(place) does not match its checksum"))
    }
  }
}

/// Where pages are damaged: LMDB must not be led there.
struct DamagedPages {
  /// Databases of the state file.
  var state: Set<String> = []
  /// Paths of segments.
  var segments: Set<String> = []
  /// Topics whose live segments are among them: nothing is known of their ends.
  var topics: Set<String> = []
}

extension StoreVerification.Damage {
  init(_ damage: LogDamage) {
    let place = damage.partition < 0 ? "" : ", partition \(damage.partition)"
    let offsets =
      damage.offsets.isEmpty ? "" : "offsets \(damage.offsets.lowerBound)..<\(damage.offsets.upperBound): "
    self.init(
      subject: "topic \(damage.topic)\(place)", path: damage.path,
      detail: "\(offsets)\(damage.reason); restore the segment from a backup, or read on by skipping damage")
  }
}
