import Bytes
public import LMDB
import Synchronization

/// One table as one transaction sees it: the live runs over the base. Made by `TableSpace.reader`, shared by all users
/// of that transaction number.
///
/// Thread-safe. Every call takes a transaction of the same number as the reader was made with; what it returns is valid
/// as long as that transaction.
public final class TableReader: Sendable {
  let pages: TablePages
  public let table: TableID
  /// The transaction's number.
  public let transactionID: Int
  /// The live runs, newest first.
  public let runs: [RunReader]
  let state: TableState

  init<T: ReadableTransaction & ~Copyable>(
    _ space: TableSpace, _ table: TableID, in transaction: borrowing T
  ) throws {
    pages = space.pages
    self.table = table
    transactionID = transaction.id
    state = try space.existing(table, in: transaction)
    var readers: [RunReader] = []
    for record in state.runs.reversed() { try readers.append(RunReader(record, table, space.pages, in: transaction)) }
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
    let pack = try unsafe pages.pack(bytes, table, "a block")
    return unsafe pack.find(key, hash: 0)?.value
  }

  /// The block whose range holds `key`, or nil.
  public func block<T: ReadableTransaction & ~Copyable>(
    containing key: UnsafeRawBufferPointer, lane: Int = 0, in transaction: borrowing T
  ) throws -> Block? {
    unsafe try pages.block(table, lane, containing: key, in: transaction)
  }

  private func blockBytes<T: ReadableTransaction & ~Copyable>(
    containing key: UnsafeRawBufferPointer, lane: Int, in transaction: borrowing T
  ) throws -> UnsafeRawBufferPointer? {
    try unsafe transaction.withCursor(pages.blocks) { cursor in
      try unsafe pages.seek(&cursor, table, lane, containing: key) ? cursor.value : nil
    }
  }

  /// Calls `body` with each block of `lane` in key order, from the one that holds `start` on, or backwards from there,
  /// until it returns false.
  public func forEachBlock<T: ReadableTransaction & ~Copyable>(
    lane: Int = 0, from start: UnsafeRawBufferPointer? = nil, reverse: Bool = false, in transaction: borrowing T,
    _ body: (Block) throws -> Bool
  ) throws {
    try transaction.withCursor(pages.blocks) { cursor in
      let walk = BlockWalk(table, lane)
      var isThere = try unsafe walk.start(&cursor, pages, at: start, reverse: reverse)
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
}
