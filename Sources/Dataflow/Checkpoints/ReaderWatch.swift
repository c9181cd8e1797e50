import LMDB

/// Decides before each commit what readers that stay open allow: while one is old, pages freed by merging could not be
/// reused and the file would grow by the size of the base, so merging pauses; when the file has grown too far all the
/// same, checkpoints are refused until that reader is gone (one in another process cannot be ended from here).
struct ReaderWatch: Sendable {
  /// When a reader counts as old, and what it may cost.
  struct Limits: Sendable, Hashable {
    /// Microseconds for which a reader may be open before merging pauses.
    var oldAfter: Int64 = 1_000_000
    /// Bytes by which the file may grow while merging is paused.
    var maximumGrowth = 4 << 30
  }

  enum Action: Hashable {
    case merge
    case pause(process: Int32)
    case refuse(process: Int32, growth: Int)
  }

  let limits: Limits
  /// The last commits, oldest first: what a reader sees tells how long it has been open at least.
  private var commits: [(time: Int64, transaction: Int)] = []
  private var sizeAtPause: Int?
  private var nextLook: Int64 = .min

  init(limits: Limits = Limits()) { self.limits = limits }

  /// To be asked before a commit. `readers`, oldest first, are looked at a few times a second.
  mutating func decide(now: Int64, lastTransaction: Int, bytesUsed: Int, readers: () -> [Environment.Reader]) -> Action
  {
    if commits.last?.transaction != lastTransaction { commits.append((now, lastTransaction)) }
    // Keep one commit that is old enough, drop those before it.
    let old = now - limits.oldAfter
    while commits.count > 1, commits[1].time <= old { commits.removeFirst() }
    if now < nextLook && sizeAtPause == nil { return .merge }
    nextLook = now + limits.oldAfter / 4
    // What sees less than a commit that is old enough was opened before it.
    guard let first = commits.first, first.time <= old, let reader = readers().first,
      reader.transactionID < first.transaction
    else {
      sizeAtPause = nil
      return .merge
    }
    let size = sizeAtPause ?? bytesUsed
    sizeAtPause = size
    let growth = bytesUsed - size
    if growth > limits.maximumGrowth { return .refuse(process: reader.processID, growth: growth) }
    return .pause(process: reader.processID)
  }
}
