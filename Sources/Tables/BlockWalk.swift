import Bytes
import LMDB

/// Walks the blocks of one lane of a table with a cursor.
struct BlockWalk {
  let head: [UInt8]
  private let table: TableID
  private let lane: Int

  init(_ table: TableID, _ lane: Int) {
    self.table = table
    self.lane = lane
    head = TableKeys.lane(table, UInt8(truncatingIfNeeded: lane))
  }

  /// Whether the cursor stands in the lane.
  private func isInside(_ cursor: borrowing Cursor) -> Bool {
    unsafe cursor.key.count >= TableKeys.blockHead
      && head.withUnsafeBytes { unsafe cursor.key.slice(0, TableKeys.laneHead).compare($0) == 0 }
  }

  /// The block under the cursor; nil outside the lane.
  func block(_ cursor: borrowing Cursor) -> Block? {
    guard isInside(cursor) else { return nil }
    let isLast = unsafe cursor.key[TableKeys.laneHead] != 0
    let fence = unsafe isLast ? nil : Fence(bytes: [UInt8](cursor.key.dropFirst(TableKeys.blockHead)))
    return unsafe Block(bytes: cursor.value, fence: fence)
  }

  /// Moves to the block that holds `key`, or, without one, to the first or the last block. Backwards, a key beyond the
  /// last block leads to the last.
  func start(
    _ cursor: inout Cursor, _ pages: TablePages, at key: UnsafeRawBufferPointer?, reverse: Bool
  ) throws -> Bool {
    if let key = unsafe key {
      if unsafe try pages.seek(&cursor, table, lane, containing: key) { return true }
      return reverse ? try last(&cursor) : false
    }
    if reverse { return try last(&cursor) }
    return try unsafe head.withUnsafeBytes { try unsafe cursor.seek(atLeast: $0) } && isInside(cursor)
  }

  private func last(_ cursor: inout Cursor) throws -> Bool {
    let behind = head + [2]
    let isFound = try unsafe behind.withUnsafeBytes { try unsafe cursor.seek(atLeast: $0) }
    return try (isFound ? cursor.previous() : cursor.last()) && isInside(cursor)
  }

  /// Moves to the neighbouring block.
  func move(_ cursor: inout Cursor, reverse: Bool) throws -> Bool {
    try (reverse ? cursor.previous() : cursor.next()) && isInside(cursor)
  }
}
