import Bytes
import LMDB
import Synchronization

extension TableSpace {
  /// Frees the next part of a dropped table: values of about four budgets of bytes, at least one. Returns whether any
  /// is left.
  func freeSlice(
    of table: TableID, _ state: TableState, in transaction: borrowing WriteTransaction, _ budget: MaintenanceBudget
  ) throws -> Bool {
    var left = budget.bytes * 4
    for database in [runs, blocks] {
      let (keys, isAll) = try keys(of: table, database, &left, in: transaction)
      for key in keys { try transaction.delete(database, key) }
      if !isAll { return true }
    }
    try deleteNotes(of: table, in: transaction)
    try transaction.delete(tables, TableKeys.state(table))
    memory.withLock {
      _ = $0.active?.remove(table)
      $0.readers[table] = nil
      $0.formats[table] = nil
    }
    return false
  }

  /// The first keys of `table` in `database`, with values of up to `left` bytes, and whether they are all.
  private func keys(
    of table: TableID, _ database: Database, _ left: inout Int, in transaction: borrowing WriteTransaction
  ) throws -> (keys: [[UInt8]], isAll: Bool) {
    let head = TableKeys.big(table.value)
    var keys: [[UInt8]] = []
    var rest = left
    let isAll = try transaction.withCursor(database) { cursor in
      var isThere = try unsafe head.withUnsafeBytes { try unsafe cursor.seek(atLeast: $0) }
      while isThere, unsafe cursor.key.starts(with: head) {
        if rest <= 0 { return false }
        unsafe keys.append([UInt8](cursor.key))
        rest -= unsafe max(cursor.value.count, 256)
        isThere = try cursor.next()
      }
      return true
    }
    left = rest
    return (keys, isAll)
  }
}
