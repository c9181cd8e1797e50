import LMDB
import Synchronization

extension EventLog {
  /// Seals segments that are due by size or age and removes those that retention no longer keeps, in every opened
  /// topic; starts writing what was enqueued and not flushed. To be called from time to time, say every few seconds:
  /// nothing happens to a quiet topic otherwise. Returns the number of segments removed.
  ///
  /// Suspends while the topics' writers do it.
  @discardableResult
  public func maintain() async throws -> Int {
    var removed = 0
    for topic in openTopics() {
      guard let writer = topic.writer else { continue }
      writer.queue.kick()
      removed += try await withCheckedThrowingContinuation { continuation in
        writer.run(.task(continuation)) { try $0.maintain($0.state.core.options.clock()) }
      }
      try writer.compactIfDue(core.options.clock())
    }
    return removed
  }

  /// As `maintain`, for plain threads.
  @discardableResult
  public func maintainBlocking() throws -> Int {
    var removed = 0
    for topic in openTopics() {
      guard let writer = topic.writer else { continue }
      writer.queue.kick()
      let done = BlockingResult<Int>()
      writer.run(.thread(done)) { try $0.maintain($0.state.core.options.clock()) }
      removed += try done.wait()
      try writer.compactIfDue(core.options.clock())
    }
    return removed
  }

  /// Takes what was acknowledged and not yet synced into the segments, in every opened topic. Blocks for the disk.
  func syncJournals() throws {
    for topic in openTopics() where topic.state.hasUnsynced { try topic.writer?.commitJournalBlocking() }
  }

  /// Keeps every segment while `body` runs: retention removes and compaction replaces nothing.
  public func holdingRetention<R>(_ body: () throws -> R) rethrows -> R { try core.holdingSegments(body) }

  /// Copies the log, while it is in use, into the new directory `target`, synced: everything durable when it begins.
  ///
  /// Blocks for the disk. `progress` gets bytes copied and bytes in all.
  public func backup(to target: String, progress: (Int, Int) -> Void = { _, _ in }) throws {
    try requireOpen()
    if LogFiles.isDirectory(target), !LogFiles.names(in: target).isEmpty {
      throw EventLogError(.storage, "the target of a backup must be new or empty", path: target)
    }
    try LogFiles.makeDirectory(target)
    try syncJournals()
    try holdingRetention {
      // Before the log, so that no group is ahead of it.
      try backupGroups(to: target)
      // The catalogue first: a segment that it calls live may be sealed meanwhile, and then holds a little more.
      try core.catalog.environment.backup(to: target + "/" + Catalog.fileName)
      let copy = try Catalog.open(in: target, isWritable: false)
      let (topics, segments) = try copy.load()
      var done = 0
      let total = segments.values.joined().reduce(0) { $0 + $1.bytes }
      for (name, topic) in topics {
        try LogFiles.makeDirectory(target + "/" + name)
        for segment in segments[topic.id] ?? [] {
          let path = core.directory + "/" + name + "/" + LogFiles.segmentName(segment.number)
          let file = try SegmentFile.open(
            path, number: segment.number, topic: name, access: core.access(to: segment),
            mapBytes: topic.options.segmentBytes * 2 + (256 << 20))
          try file.environment.backup(to: target + "/" + name + "/" + LogFiles.segmentName(segment.number))
          done += segment.bytes
          progress(done, total)
        }
        try LogFiles.syncDirectory(target + "/" + name)
      }
      try LogFiles.syncDirectory(target)
    }
  }
}

extension LogTopic {
  /// Seals the live segment now, if anything is in it, and begins the next.
  public func seal() async throws {
    let writer = try requireWriter()
    try await withCheckedThrowingContinuation { continuation in
      writer.run(.task(continuation)) { try $0.seal() }
    }
  }
}
