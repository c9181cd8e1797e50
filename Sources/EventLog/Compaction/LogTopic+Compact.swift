import Bytes

extension LogTopic {
  /// Removes, from all sealed segments that the topic's `Compaction` lets it, every record that is followed by another
  /// of its key and partition, and tombstones past their delay.
  ///
  /// Works on a thread of its own; appends go on meanwhile, and consumers, wherever they are, go on at their offsets
  /// and see each record that stays once. Segments are replaced one by one: each replacement is durable before it is
  /// swapped in, and after a crash at any moment the old or the new one is there. Takes memory for the keys up to
  /// `LogOptions.compactionBytes`, about 40 MB for batches, and the disk space of one segment. One compaction of a log
  /// at a time; others wait. The live segment is left alone: `seal()` it first if it should take part.
  ///
  /// - Parameter progress: called from time to time on the compaction's thread.
  /// - Throws: `invalidTopic` if the topic has no `compaction`; `damaged` at a batch that cannot be read, before which
  ///   everything has been compacted; `storage`; `closed`, `topicDeleted`, `readOnly`; `CancellationError`.
  @discardableResult
  public func compact(
    progress: (@Sendable (CompactionProgress) -> Void)? = nil
  ) async throws -> CompactionResult {
    let (writer, policy) = try compactionPolicy()
    let control = CompactionControl(progress)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        writer.compactions.run(.task(continuation)) { try writer.compact(.compact(policy), control) }
      }
    } onCancel: {
      control.cancel()
    }
  }

  /// As `compact`, for plain threads.
  @discardableResult
  public func compactBlocking(
    progress: (@Sendable (CompactionProgress) -> Void)? = nil
  ) throws -> CompactionResult {
    let (writer, policy) = try compactionPolicy()
    let control = CompactionControl(progress)
    let done = BlockingResult<CompactionResult>()
    writer.compactions.run(.thread(done)) { try writer.compact(.compact(policy), control) }
    return try done.wait()
  }

  private func compactionPolicy() throws(EventLogError) -> (TopicWriter, Compaction) {
    let writer = try requireWriter()
    guard let policy = options.compaction else {
      throw EventLogError(
        .invalidTopic, "the topic keeps all records; set the option compaction before compacting it", topic: name)
    }
    return (writer, policy)
  }

  /// Returns when compactions that `maintain` began have ended.
  package func waitForCompaction() { writer?.compactions.waitUntilIdle() }
}

extension TopicWriter {
  /// Does one compaction, on its thread.
  func compact(_ purpose: Compactor.Purpose, _ control: CompactionControl) throws -> CompactionResult {
    do {
      guard var compactor = try Compactor(self, purpose, control) else { return CompactionResult() }
      return try compactor.run()
    } catch is CancellationError {
      throw CancellationError()
    } catch let error as CompactionInterrupted {
      throw error
    } catch {
      throw EventLogError(wrapping: error, "compacting a topic failed", topic: state.name)
    }
  }

  /// Begins what should be done by now, unless something is going on.
  ///
  /// - Throws: what went wrong with the last one.
  func compactIfDue(_ now: Timestamp) throws {
    try compactions.throwFailure()
    let segments = try state.snapshot().segments
    guard let purpose = CompactionNeed.purpose(segments, state.options, now) else { return }
    compactions.begin(segments.last?.number ?? 0) { _ = try self.compact(purpose, CompactionControl()) }
  }
}

/// What a test throws at a step of a compaction.
package struct CompactionInterrupted: Error {
  package init() {}
}
