import Bytes
import LMDB

extension TableSpace {
  /// Merges the next part of the frozen runs into the base, about `slice` bytes of blocks; returns the bytes written.
  /// At the end of the last lane the frozen runs are deleted.
  ///
  /// A run holds whole values and tombstones, so that a reader who lays it over a base that has taken part of it in
  /// sees the same.
  func sweepSlice(
    _ table: TableID, _ state: inout TableState, _ format: any BlockFormat,
    in transaction: borrowing WriteTransaction, _ slice: Int
  ) throws -> Int {
    guard let sweep = state.sweep else { return 0 }
    var readers: [RunReader] = []
    for record in state.runs.prefix(sweep.frozen).reversed() {
      try readers.append(RunReader(record, table, pages, in: transaction))
    }
    var written = 0
    var lane = sweep.lane
    var position = sweep.position
    while lane < format.lanes {
      var step = SweepStep(self, table, lane, format, readers, from: position, limit: max(slice, 256 << 10))
      var isDone = false
      while !isDone {
        isDone = try step.advance(&state, in: transaction)
        if !isDone && (written + step.written >= slice || step.mustPause) {
          state.sweep = TableState.Sweep(frozen: sweep.frozen, lane: lane, position: step.position)
          return written + step.written
        }
      }
      written += step.written
      lane += 1
      position = []
    }
    for record in state.runs.prefix(sweep.frozen) { try deleteRun(record, of: table, in: transaction) }
    state.runs.removeFirst(sweep.frozen)
    state.sweep = nil
    return written
  }
}

/// Takes frozen changes into one lane's blocks, one block, or a few small neighbours, at a time.
private struct SweepStep: ~Copyable {
  private let space: TableSpace
  private let table: TableID
  private let lane: Int
  private let format: any BlockFormat
  private var merge: RunMerge
  private let overlay: Overlay
  private let limit: Int
  private var changes: [Change] = []
  private var changedBytes = 0
  private var output = BlockOutput()
  /// Changes with keys below are in the base.
  private(set) var position: [UInt8]
  private(set) var written = 0
  /// Whether the next step would rewrite a block of this transaction, which LMDB does not bear.
  private(set) var mustPause = false

  init(
    _ space: TableSpace, _ table: TableID, _ lane: Int, _ format: any BlockFormat, _ readers: [RunReader],
    from position: [UInt8], limit: Int
  ) {
    self.space = space
    self.table = table
    self.lane = lane
    self.format = format
    self.position = position
    self.limit = limit
    overlay = Overlay(format)
    merge = RunMerge(readers, from: position)
  }

  /// Rewrites the block that the next change falls into; returns whether no change was left.
  mutating func advance(_ state: inout TableState, in transaction: borrowing WriteTransaction) throws -> Bool {
    guard let next = merge.current else { return true }
    changes.removeAll(keepingCapacity: true)
    changedBytes = 0
    overlay.forget()
    var old: [Block] = []
    if let block = try unsafe space.pages.block(table, lane, containing: next.key, in: transaction) { old = [block] }
    var end = old.last?.fence
    var cut = try gather(below: end)
    output.removeAll()
    try format.rewrite(lane: lane, blocks: old, changes: changes, into: &output)
    // A small result is joined with its neighbours.
    while cut == nil, let fence = end, let last = output.parts.last, last.count < format.joinBelow, old.count < 4 {
      let neighbour = try unsafe fence.bytes.withUnsafeBytes {
        try unsafe space.pages.block(table, lane, containing: $0, in: transaction)
      }
      guard let neighbour else { break }
      old.append(neighbour)
      end = neighbour.fence
      cut = try gather(below: end)
      output.removeAll()
      try format.rewrite(lane: lane, blocks: old, changes: changes, into: &output)
    }
    if old.isEmpty, let cut { end = cut }
    try store(old, end, &state, in: transaction)
    if let cut {
      position = cut.bytes
      mustPause = !old.isEmpty
    } else if let end {
      position = end.bytes
    }
    return merge.current == nil
  }

  /// Takes the changes below `fence`, at most about `limit` bytes of them; returns where it stopped, if it did.
  private mutating func gather(below fence: Fence?) throws -> Fence? {
    while let next = merge.current {
      if let fence, unsafe !fence.isAbove(next.key) { return nil }
      if changedBytes > limit, let last = changes.last, let cut = unsafe Fence(between: last.key, next.key) {
        return cut
      }
      guard let change = try overlay.take(&merge) else { return nil }
      changes.append(change)
      changedBytes += unsafe change.key.count + change.payload.count
    }
    return nil
  }

  /// Puts the output in the place of `old`: each key once, as LMDB demands of large values.
  private mutating func store(
    _ old: [Block], _ end: Fence?, _ state: inout TableState, in transaction: borrowing WriteTransaction
  ) throws {
    let tableLane = UInt8(truncatingIfNeeded: lane)
    var keys: [[UInt8]] = []
    for index in output.parts.indices {
      var fence = end
      if index + 1 < output.parts.count {
        fence = unsafe output.parts[index].last.withUnsafeBytes { last in
          unsafe output.parts[index + 1].first.withUnsafeBytes { unsafe Fence(between: last, $0) }
        }
        guard fence != nil else {
          throw TableError(
            .inseparableBlocks, table: table, detail: "its format split keys that share \(Fence.maximumCount) bytes")
        }
      }
      keys.append(TableKeys.block(table, tableLane, fence))
    }
    for block in old {
      state.baseBytes -= unsafe block.bytes.count
      state.baseBlocks -= 1
      if lane == 0 { state.baseEntries -= format.entryCount(lane: lane, block: block) }
    }
    for block in old {
      let key = TableKeys.block(table, tableLane, block.fence)
      if !keys.contains(key) { try transaction.delete(space.blocks, key) }
    }
    for (part, key) in zip(output.parts, keys) {
      try unsafe transaction.put(space.blocks, key, output.bytes.bytes.slice(part.start, part.count))
      written += part.count
      state.baseBytes += part.count
      state.baseBlocks += 1
      if lane == 0 { state.baseEntries += part.entries }
    }
  }
}
