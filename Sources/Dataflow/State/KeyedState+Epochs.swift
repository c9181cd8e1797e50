import LMDB
import Synchronization

/// The changes of one epoch, for the backing to encode. Valid during `KeyedBacking.seal` only.
@safe
public struct StateChanges<Value> {
  @usableFromInline let entries: UnsafeMutablePointer<UnsafeMutableRawPointer>
  /// The number of changed keys.
  public let count: Int

  /// Calls `body` once per changed key, in no order: its group, its bytes (namespace included), its value or nil for
  /// deleted.
  @inlinable
  public func visit(
    _ body: (_ keyGroup: UInt8, _ key: UnsafeRawBufferPointer, _ value: Value?) throws -> Void
  ) rethrows {
    var touched: UInt64 = 0
    var start = 0
    while start < count {
      // The entries lie anywhere: load some of them at once before they are needed one by one.
      let end = min(start &+ 64, count)
      for index in start..<end {
        let entry = unsafe entries[index]
        touched &+=
          unsafe KeyTable.header(entry) &+ UInt64((entry + KeyedState<Value>.valueOffset).load(as: UInt8.self))
      }
      for index in start..<end {
        let entry = unsafe entries[index]
        let header = unsafe KeyTable.header(entry)
        let value = unsafe KeyedState<Value>.value(entry)
        let group = UInt8(truncatingIfNeeded: header &>> KeyTable.Header.groupShift)
        try unsafe KeyTable.withKey(entry) { try unsafe body(group, $0, value.pointee) }
        let absent = unsafe value.pointee == nil ? KeyTable.Header.absent : 0
        unsafe entry.storeBytes(of: header & ~KeyTable.Header.absent | absent, as: UInt64.self)
      }
      start = end
    }
    Touch.keep(touched)
  }
}

/// Keeps loads that only warm the cache from being removed as unused.
@usableFromInline
enum Touch {
  private static let sink = Atomic<UInt64>(0)

  @usableFromInline
  static func keep(_ value: UInt64) { sink.store(value, ordering: .relaxed) }
}

/// How far a state's sealed epochs are committed: told by the writer thread, read by the subtask.
@usableFromInline
final class CommitProgress: Sendable {
  private let epoch = Atomic<UInt64>(0)

  func committed(_ newest: UInt64) { epoch.store(newest, ordering: .releasing) }
  var newest: UInt64 { epoch.load(ordering: .acquiring) }
}

/// A backing's part, which also tells the state of its commit.
private final class StatePart: SealedPart {
  let inner: any SealedPart
  let commits: CommitProgress
  let epoch: UInt64

  init(_ inner: any SealedPart, _ commits: CommitProgress, _ epoch: UInt64) {
    self.inner = inner
    self.commits = commits
    self.epoch = epoch
  }

  func write(in transaction: borrowing WriteTransaction, checkpoint: UInt64) throws {
    try inner.write(in: transaction, checkpoint: checkpoint)
  }

  func committed(checkpoint: UInt64) {
    inner.committed(checkpoint: checkpoint)
    commits.committed(epoch)
  }
}

extension KeyedState {
  /// Ends the epoch: encodes its changes and begins the next. Nil if nothing changed.
  ///
  /// The parts of one state must be committed in the order of their seals. When it throws, the changes stay and a later
  /// seal takes them.
  public func seal() throws -> (any SealedPart)? {
    if let failure { throw failure }
    try noticeCommits()
    guard table.dirtyCount > 0 else { return nil }
    let changes = unsafe StateChanges<Value>(entries: table.dirty, count: table.dirtyCount)
    let sealed = try backing.seal(changes)
    learnSize(of: sealed)
    let part = StatePart(sealed, commits, table.epoch)
    unsafe order?.seal(table.dirty, table.dirtyCount)
    table.dirtyCount = 0
    table.epoch += 1
    return part
  }

  /// Lets the backing see new commits, which makes what they hold evictable. `seal` does it too; an idle subtask calls
  /// it so that no old view of the file stays pinned.
  public func noticeCommits() throws {
    let newest = commits.newest
    guard newest > visibleEpoch else { return }
    try backing.renew()
    visibleEpoch = newest
    order?.forget(upTo: newest)
    if table.count >= purgeAt { purge() }
  }
}
