import Bytes
public import LMDB
import Synchronization

/// One table as one transaction sees it: the live runs over the base. Made by `TableSpace.reader`, shared by all users
/// of that transaction number.
///
/// Thread-safe. Every call takes a transaction of the same number as the reader was made with; what it returns is valid
/// as long as that transaction.
public final class TableReader: Sendable {
  let space: TableSpace
  public let table: TableID
  /// The transaction's number.
  public let transactionID: Int
  /// The live runs, newest first.
  public let runs: [RunReader]
  let state: TableState

  init<T: ReadableTransaction & ~Copyable>(
    _ space: TableSpace, _ table: TableID, in transaction: borrowing T
  ) throws {
    self.space = space
    self.table = table
    transactionID = transaction.id
    state = try space.existing(table, in: transaction)
    var readers: [RunReader] = []
    for record in state.runs.reversed() { try readers.append(RunReader(record, table, space, in: transaction)) }
    runs = readers
  }

  /// Whether nothing was ever stored, or all of it was merged away.
  public var isEmpty: Bool { runs.isEmpty && state.baseBlocks == 0 }

  /// Rows in the base.
  public var baseEntryCount: Int { state.baseEntries }
  /// Base rows and run entries together: an upper bound of the rows, tombstones included.
  public var approximateCount: Int { state.baseEntries + state.runEntries }
  /// Bytes of base and runs.
  public var byteCount: Int { state.baseBytes + state.runBytes }

  /// The value of `key`, or nil. For tables of the default format.
  public func get<T: ReadableTransaction & ~Copyable>(
    _ key: UnsafeRawBufferPointer, in transaction: borrowing T
  ) throws -> UnsafeRawBufferPointer? {
    if !runs.isEmpty {
      let hash = unsafe KeyHash(key).value
      for run in runs {
        if let change = unsafe run.find(key, hash: hash) { return unsafe change.value }
      }
    }
    guard state.baseBlocks > 0 else { return nil }
    guard let bytes = try unsafe blockBytes(containing: key, lane: 0, in: transaction) else { return nil }
    let pack = try unsafe space.pack(bytes, table, "a block")
    return unsafe pack.find(key, hash: 0)?.value
  }

  /// The block whose range holds `key`, or nil.
  public func block<T: ReadableTransaction & ~Copyable>(
    containing key: UnsafeRawBufferPointer, lane: Int = 0, in transaction: borrowing T
  ) throws -> Block? {
    unsafe try space.block(table, lane, containing: key, in: transaction)
  }

  private func blockBytes<T: ReadableTransaction & ~Copyable>(
    containing key: UnsafeRawBufferPointer, lane: Int, in transaction: borrowing T
  ) throws -> UnsafeRawBufferPointer? {
    try unsafe transaction.withCursor(space.blocks) { cursor in
      try unsafe space.seek(&cursor, table, lane, containing: key) ? cursor.value : nil
    }
  }

  /// Calls `body` with each block of `lane` in key order, from the one that holds `start` on, or backwards from there,
  /// until it returns false.
  public func forEachBlock<T: ReadableTransaction & ~Copyable>(
    lane: Int = 0, from start: UnsafeRawBufferPointer? = nil, reverse: Bool = false, in transaction: borrowing T,
    _ body: (Block) throws -> Bool
  ) throws {
    try transaction.withCursor(space.blocks) { cursor in
      let walk = BlockWalk(table, lane)
      var isThere = try unsafe walk.start(&cursor, space, at: start, reverse: reverse)
      while isThere, let block = walk.block(cursor) {
        if try !body(block) { return }
        isThere = try walk.move(&cursor, reverse: reverse)
      }
    }
  }
}

extension TableSpace {
  /// The reader of `table` for what `transaction` sees; made once per commit and shared.
  ///
  /// - Throws: `unknownTable`; `damaged` when a run is.
  public func reader(_ table: TableID, in transaction: borrowing ReadTransaction) throws -> TableReader {
    let id = transaction.id
    if let known = memory.withLock({ $0.readers[table]?.first { $0.transactionID == id } }) { return known }
    let reader = try TableReader(self, table, in: transaction)
    memory.withLock { memory in
      // A few, for snapshots of different age.
      var kept = memory.readers[table, default: []]
      kept.append(reader)
      kept.sort { $0.transactionID > $1.transactionID }
      memory.readers[table] = Array(kept.prefix(4))
    }
    return reader
  }

  /// The reader of `table` for what the write transaction sees so far: valid until its next change of the table.
  public func reader(_ table: TableID, in transaction: borrowing WriteTransaction) throws -> TableReader {
    try TableReader(self, table, in: transaction)
  }

  /// Moves `cursor` to the block whose range holds `key`.
  func seek(
    _ cursor: inout Cursor, _ table: TableID, _ lane: Int, containing key: UnsafeRawBufferPointer
  ) throws -> Bool {
    let count = min(key.count, Fence.maximumCount)
    return try unsafe withUnsafeTemporaryAllocation(
      byteCount: TableKeys.blockHead + Fence.maximumCount, alignment: 8
    ) { memory in
      unsafe memory.storeBytes(of: table.value.bigEndian, as: UInt32.self)
      unsafe memory[4] = UInt8(truncatingIfNeeded: lane)
      unsafe memory[5] = 0
      unsafe UnsafeMutableRawBufferPointer(rebasing: memory[TableKeys.blockHead...])
        .copyMemory(from: key.slice(0, count))
      let wanted = unsafe UnsafeRawBufferPointer(memory).slice(0, TableKeys.blockHead + count)
      guard try unsafe cursor.seek(atLeast: wanted) else { return false }
      // A fence equal to the key, or to what of it fits, is the lower bound of the next block.
      if unsafe cursor.key.compare(wanted) == 0, try !cursor.next() { return false }
      return unsafe cursor.key.count >= TableKeys.blockHead
        && cursor.key.slice(0, TableKeys.laneHead).compare(wanted.slice(0, TableKeys.laneHead)) == 0
    }
  }

  func block<T: ReadableTransaction & ~Copyable>(
    _ table: TableID, _ lane: Int, containing key: UnsafeRawBufferPointer, in transaction: borrowing T
  ) throws -> Block? {
    try transaction.withCursor(blocks) { cursor in
      try unsafe seek(&cursor, table, lane, containing: key) ? BlockWalk(table, lane).block(cursor) : nil
    }
  }
}
