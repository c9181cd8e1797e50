import LMDB
import Synchronization

/// What the one who asked for a compaction and the thread that does it share: the wish to end it, and its progress.
final class CompactionControl: Sendable {
  private let isCancelled = Atomic<Bool>(false)
  private let counts = Mutex((done: 0, inAll: 0))
  private let report: (@Sendable (CompactionProgress) -> Void)?

  init(_ report: (@Sendable (CompactionProgress) -> Void)? = nil) { self.report = report }

  func cancel() { isCancelled.store(true, ordering: .relaxed) }

  /// - Throws: `CancellationError`; `closed` or `topicDeleted` once `state` has ended.
  func check(_ state: TopicState) throws {
    if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    _ = try state.snapshot()
  }

  func expect(bytes: Int) { counts.withLock { $0.inAll += bytes } }

  func did(bytes: Int) {
    guard let report else { return }
    let progress = counts.withLock { counts in
      counts.done += bytes
      return CompactionProgress(bytesDone: counts.done, bytesInAll: max(counts.done, counts.inAll))
    }
    report(progress)
  }
}
