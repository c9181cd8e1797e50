import Bytes
public import LMDB
import Synchronization

/// What one call of `maintain` may do.
public struct MaintenanceBudget: Sendable {
  /// Bytes written into the base, roughly; up to 16 times as much when merging falls behind the appends.
  public var bytes: Int
  /// Whether sweeps may go on. Not while an old reader is open: every page that they free would stay unusable, and the
  /// file would grow by the base's size.
  public var sweeps: Bool

  public init(bytes: Int = 4 << 20, sweeps: Bool = true) {
    self.bytes = bytes
    self.sweeps = sweeps
  }
}

/// What a call of `maintain` did.
public struct MaintenanceResult: Sendable, Hashable {
  public init() {}

  /// Bytes written into runs and blocks.
  public var bytesWritten = 0
  /// Whether another call has something to do.
  public var hasMore = false
}

extension TableSpace {
  /// Goes on with what keeps tables fast and small, within the checkpoint's transaction: combines small runs, merges
  /// runs into the base by one slice, frees dropped tables by one slice.
  ///
  /// Works only on runs of earlier transactions, so it may be called before or after this one's appends; once per
  /// transaction. A table found damaged is left as it is, see `damages`, and does not hold up the others.
  ///
  /// - Throws: LMDB's errors, after which the transaction must be given up.
  public func maintain(
    in transaction: borrowing WriteTransaction, budget: MaintenanceBudget = MaintenanceBudget()
  ) throws -> MaintenanceResult {
    var result = MaintenanceResult()
    for table in try activeTables(in: transaction) {
      if memory.withLock({ $0.damaged[table] != nil }) { continue }
      do {
        let isActive = try maintain(table, in: transaction, budget, &result)
        if isActive { result.hasMore = true }
      } catch var error as TableError where error.code == .damaged || error.code == .newerFormat {
        error.table = table
        memory.withLock { [error] in $0.damaged[table] = error }
      }
    }
    return result
  }

  /// The tables that may need something; at the first call since opening: all.
  private func activeTables(in transaction: borrowing WriteTransaction) throws -> [TableID] {
    if let known = memory.withLock({ $0.active }) { return known.sorted() }
    var found: Set<TableID> = []
    try transaction.withCursor(tables) { cursor in
      let start: [UInt8] = [UInt8(ascii: "t")]
      var isThere = try unsafe start.withUnsafeBytes { try unsafe cursor.seek(atLeast: $0) }
      while isThere, unsafe cursor.key[0] == start[0], unsafe cursor.key.count == 5 {
        unsafe found.insert(TableID(value: cursor.key.big(UInt32.self, at: 1)))
        isThere = try cursor.next()
      }
    }
    memory.withLock { $0.active = found }
    return found.sorted()
  }

  /// Does what `table` needs; returns whether more is to do. What is found idle is not looked at again until a run is
  /// appended.
  private func maintain(
    _ table: TableID, in transaction: borrowing WriteTransaction, _ budget: MaintenanceBudget,
    _ result: inout MaintenanceResult
  ) throws -> Bool {
    guard var state = try state(table, in: transaction) else {
      memory.withLock { _ = $0.active?.remove(table) }
      return false
    }
    if state.isDropped { return try freeSlice(of: table, state, in: transaction, budget) }
    if state.format != 0 && memory.withLock({ $0.formats[table] == nil }) { return false }
    let before = state
    let format = try format(of: table, state)
    var written = 0
    do {
      written = try combineSmall(table, &state, format, in: transaction, budget)
      if budget.sweeps && state.lastSweep < transaction.id {
        startSweepIfDue(&state, transaction.id)
        if state.sweep != nil {
          state.lastSweep = transaction.id
          written += try sweepSlice(table, &state, format, in: transaction, budget.bytes * pace(of: state))
        }
      }
    } catch let error as TableError {
      // What was done before the damage was met counts: combined runs have replaced others.
      try put(state, of: table, in: transaction)
      throw error
    }
    result.bytesWritten += written
    if before.runs != state.runs || before.sweep != state.sweep || before.lastSweep != state.lastSweep {
      try put(state, of: table, in: transaction)
    }
    let isActive = state.sweep != nil || written > 0 || isSweepDue(state)
    // Runs of this transaction only count from the next one on: the table stays active until they did.
    let isSettled = !isActive && state.runs.allSatisfy { $0.transaction < transaction.id }
    if isSettled { memory.withLock { _ = $0.active?.remove(table) } }
    return isActive
  }

  /// A tenth of the base; of a small base half, so that small tables are merged soon (a scan pays for each row in a
  /// run) and yet rewritten seldom.
  func sweepThreshold(_ state: TableState) -> Int {
    let small = min(options.sweepFloor, state.baseBytes / 2 + (16 << 10))
    return max(small, min(options.sweepCeiling, state.baseBytes / 10))
  }

  private func isSweepDue(_ state: TableState) -> Bool { state.runBytes > sweepThreshold(state) }

  /// Freezes the runs of earlier transactions if they are large enough together.
  private func startSweepIfDue(_ state: inout TableState, _ transaction: Int) {
    guard state.sweep == nil, isSweepDue(state) else { return }
    let frozen = state.runs.prefix { $0.transaction < transaction }.count
    if frozen > 0 { state.sweep = TableState.Sweep(frozen: frozen, lane: 0, position: []) }
  }

  /// How many times the usual slice: the runs' bytes by the threshold, so that merging keeps up with any rate of
  /// appends.
  private func pace(of state: TableState) -> Int { min(16, max(1, state.runBytes / max(1, sweepThreshold(state)))) }
}
