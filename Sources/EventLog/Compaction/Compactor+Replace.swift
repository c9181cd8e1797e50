import Bytes
import LMDB

extension Compactor {
  /// What a look at a segment says of it.
  private struct Survey {
    /// Bytes of the records that stay, and of all, uncompressed.
    var keptBytes = 0
    var bytes = 0
    var mustBeRewritten = false
  }

  /// Goes over `segments` from the oldest on: replaces those that hold something to be removed or tombstones compacted
  /// for the first time, together with small neighbours. The first `complete` are compacted then.
  func surveyed(_ segments: [SegmentRecord], _ selection: borrowing Selection) throws -> [(
    SegmentRecord, kept: Int, stored: Int, mustBeRewritten: Bool
  )] {
    var found: [(SegmentRecord, kept: Int, stored: Int, mustBeRewritten: Bool)] = []
    for segment in segments {
      let survey = try survey(segment, selection)
      // What it will take on disk, if it can be compressed as before.
      let stored = Int(Double(segment.bytes) * Double(survey.keptBytes) / Double(max(1, survey.bytes)))
      let isRewritten = survey.mustBeRewritten || CompactionNeed.hasSmallBatches(segment)
      found.append((segment, survey.keptBytes, stored, isRewritten))
    }
    return found
  }

  mutating func replaceWhatNeedsIt(
    _ segments: [SegmentRecord], complete: Int, _ selection: borrowing Selection
  ) throws {
    let found = try surveyed(segments, selection)
    let largest = state.options.segmentBytes
    var index = 0
    while index < found.count {
      var group = [found[index]]
      var size = found[index].stored
      // One that is not complete stays by itself: its neighbours would not be compacted any more.
      while index + group.count < complete {
        let next = found[index + group.count]
        let isSmall = [group[group.count - 1], next].allSatisfy { $0.mustBeRewritten || $0.stored < largest / 4 }
        if !isSmall || size + next.stored > largest { break }
        group.append(next)
        size += next.stored
      }
      let isComplete = index < complete
      let records = group.map(\.0)
      if group.contains(where: \.mustBeRewritten) {
        let kept = group.reduce(0) { $0 + $1.kept }
        try replace(records, with: selection, mapBytes: kept + kept / 4, isCompacted: isComplete)
      } else if isComplete {
        for record in records where !record.isCompacted { try markCompacted(record) }
      }
      index += group.count
    }
  }

  private func survey(_ segment: SegmentRecord, _ selection: borrowing Selection) throws -> Survey {
    var survey = Survey()
    let file = try open(segment)
    try file.forEachBatch(of: segment, topic: state.name, opener) { header, batch in
      try control.check(state)
      let since = selection.tombstonesSince(header)
      survey.bytes += batch.byteCount
      for record in batch {
        switch selection.fate(
          of: record, partition: batch.partition, since: since, isCompacted: segment.isCompacted)
        {
        case .keep:
          survey.keptBytes += unsafe record.key.count + record.value.count + record.headerBytes.count + 24
          if record.isTombstone && !header.flags.contains(.compacted) { survey.mustBeRewritten = true }
        case .superseded, .expired: survey.mustBeRewritten = true
        }
      }
      control.did(bytes: header.recordBytes)
      return true
    }
    return survey
  }

  /// Writes what `selection` keeps of `old`, neighbours, into one new segment and puts that in their place.
  mutating func replace(
    _ old: [SegmentRecord], with selection: borrowing Selection, mapBytes: Int, isCompacted: Bool = false
  ) throws {
    guard var record = old.first, let last = old.last else { return }
    control.expect(bytes: old.reduce(0) { $0 + $1.bytes })
    record.number = try onWriter { try $0.nextNumber() }
    record.nextSequence = last.nextSequence
    record.lastAppendAt = old.map(\.lastAppendAt).max() ?? record.lastAppendAt
    record.ends = last.ends
    record.isCompacted = isCompacted
    record.isJoined = true
    let path = state.path(of: record.number)
    // Whether the catalogue may name the file: also after an error whose outcome is not known. Opening the log puts
    // that right, as it does when the log is closed: another process may have given the number away again.
    var isNamed = false
    defer {
      if !isNamed && !core.isEnded { try? LogFiles.removeSegment(path) }
    }
    let (new, expired) = try write(record, path, old, selection, mapBytes: mapBytes)
    try step(.fileWritten)
    try? LogFiles.removeFile(path + "-lock")
    try LogFiles.syncDirectory(state.directory)
    try step(.directorySynced)
    isNamed = true
    do {
      try swap(old, with: new)
    } catch {
      isNamed = (error as? EventLogError)?.isOutcomeUnknown ?? false
      throw error
    }
    result.tombstonesRemoved += expired
    try step(.swapped)
    for segment in old {
      let path = state.path(of: segment.number)
      core.pool.forget(path)
      try LogFiles.removeSegment(path)
    }
    try LogFiles.syncDirectory(state.directory)
    try step(.oldFilesRemoved)
  }

  /// The replacement's file, closed, and how many expired tombstones it leaves out.
  private func write(
    _ record: SegmentRecord, _ path: String, _ old: [SegmentRecord], _ selection: borrowing Selection, mapBytes: Int
  ) throws -> (SegmentRecord, expired: Int64) {
    let replacement = try ReplacementSegment(
      record, path: path, topic: state.name, mapBytes: mapBytes + (64 << 20), level: state.compression.level)
    try step(.fileCreated)
    var expired: Int64 = 0
    do {
      for segment in old {
        let file = try open(segment)
        try file.forEachBatch(of: segment, topic: state.name, opener) { header, batch in
          try control.check(state)
          let since = selection.tombstonesSince(header)
          try replacement.begin(header, bytes: batch.byteCount, tombstonesSince: since)
          for record in batch {
            switch selection.fate(
              of: record, partition: batch.partition, since: since, isCompacted: segment.isCompacted)
            {
            case .keep:
              replacement.add(
                record, partition: batch.partition, tombstonesSince: record.isTombstone ? since : nil)
            case .superseded: break
            case .expired: expired += 1
            }
          }
          try replacement.end(header)
          control.did(bytes: header.recordBytes)
          return true
        }
        try step(.batchesWritten)
      }
      return (try replacement.finish(), expired)
    } catch let error as LMDBError {
      throw EventLogError(error, "writing a compacted segment failed, nothing was changed", topic: state.name)
    }
  }

  private func markCompacted(_ segment: SegmentRecord) throws {
    var marked = segment
    marked.isCompacted = true
    try swap([segment], with: marked)
  }

  private func swap(_ old: [SegmentRecord], with new: SegmentRecord) throws {
    while true {
      try control.check(state)
      switch try onWriter({ try $0.replace(old, with: new) }) {
      case .done: return
      case .outdated: throw Outdated()
      case .held: _ = Self.pause.wait(milliseconds: 20)
      }
    }
  }

  /// Never signalled: to wait by.
  private static let pause = Semaphore()

  /// Runs `body` on the writer's thread and waits for it, unless the log is closed meanwhile.
  private func onWriter<R: Sendable>(_ body: @escaping @Sendable (TopicWriter) throws -> R) throws -> R {
    let done = BlockingResult<R>()
    writer.run(.thread(done)) { try body($0) }
    return try done.wait()
  }
}
