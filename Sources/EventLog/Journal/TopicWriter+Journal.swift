import Bytes
import LMDB
import Synchronization

// Topics that acknowledge before the sync. What they acknowledged is in the journal; one transaction takes all of it
// into the segment: when the interval has passed, when enough has come together, when somebody flushes or a reader
// waits for it, and before anything else is done to the segment.
extension TopicWriter {
  /// How long records stay in the journal while a reader waits at the end of the topic.
  static let readerDelay = 2_000_000

  /// Accepts `batches`, of `bytes` bytes: into the journal, if the topic's durability allows that and they are few, or
  /// into the segment. Tells whether they are synced.
  func accept(_ batches: [BatchHandle], bytes: Int) -> (outcomes: [Result<BatchOutcome, EventLogError>], synced: Bool) {
    do {
      let mustSync = batches.contains { unsafe $0.pointer.pointee.mustSync }
      if state.options.durability.syncInterval == nil || bytes >= core.options.commitBytes || mustSync {
        try commitJournal()
        return (commit(batches), true)
      }
      prepare(batches)
      let outcomes = try journal.append(
        batches, to: file, topic: state.name, now: core.options.clock(), tail: tail, producers: &producers)
      state.unsynced.store(journal.records, ordering: .sequentiallyConsistent)
      return (outcomes, false)
    } catch {
      return (Array(repeating: .failure(failure(error)), count: batches.count), true)
    }
  }

  /// Goes on after `accept` put something into the journal and everybody was told.
  func journaled() {
    if journal.bytes >= core.options.commitBytes || journal.isFlushed {
      commitJournalNow()
    } else {
      scheduleSync()
    }
  }

  /// Commits what is in the journal, in one transaction, and tells those who flushed it.
  ///
  /// - Throws: if that failed; everything stays in the journal, to be tried again.
  func commitJournal() throws {
    if journal.isEmpty { return }
    do {
      let now = core.options.clock()
      if try isDue(now) { try roll(now) }
      do {
        try writeJournal()
      } catch let error as LMDBError where error.code == .mapFull && tail.firstAppendAt != nil {
        try roll(now)
        try writeJournal()
      }
    } catch {
      let failure = failure(error)
      for waiting in journal.takeUnfinished() { waiting.progress.finishUnsynced(failure) }
      throw failure
    }
    let finished = journal.takeUnfinished()
    journal.restart()
    state.unsynced.store(0, ordering: .sequentiallyConsistent)
    state.publish(ends: tail.nextOffsets, sequence: tail.nextSequence)
    for waiting in finished { waiting.progress.finish(records: waiting.records, nil) }
  }

  /// As `commitJournal`, from any other plain thread.
  func commitJournalBlocking() throws {
    let done = BlockingResult<Void>()
    run(.thread(done)) { try $0.commitJournal() }
    try done.wait()
  }

  private func writeJournal() throws {
    try unsafe file.write(journal.frames.bytes, tail: &tail, producers: &producers)
    noteSize()
  }

  /// Commits; after a failure tries again later.
  func commitJournalNow() {
    do { try commitJournal() } catch {
      journal.isTimed = false
      scheduleSync()
    }
  }

  /// Sees to it that what is in the journal is committed in time.
  func scheduleSync() {
    if journal.isEmpty { return }
    if !journal.isTimed {
      journal.isTimed = true
      let interval = state.options.durability.syncInterval ?? .milliseconds(1)
      commitJournal(after: interval.wholeNanoseconds)
    }
    if !journal.isTimedForReaders && state.isAwaited {
      journal.isTimedForReaders = true
      commitJournal(after: Self.readerDelay)
    }
  }

  private func commitJournal(after nanoseconds: Int) {
    let generation = journal.currentGeneration
    later(nanoseconds: nanoseconds) { writer in
      if writer.journal.currentGeneration == generation && !writer.journal.isEmpty { writer.commitJournalNow() }
    }
  }

  /// What the last run acknowledged and did not commit is committed; then the journal begins anew, durably empty. To be
  /// called once, before the writer has anything to do.
  func recoverJournal() throws {
    guard let contents = try JournalFile.contents(in: state.directory) else { return }
    let recovery = unsafe contents.withUnsafeBytes { contents in
      unsafe journal.recover(contents, topic: state.id, tail: tail, producers: &producers)
    }
    try commitJournal()
    // No frame of that run may ever be taken for one of this, which gives the sequences of lost ones again.
    try removeJournal()
    state.recovery.withLock { $0 = recovery }
  }

  func removeJournal() throws {
    try journal.remove()
    try LogFiles.syncDirectory(state.directory)
  }
}
