import Bytes
public import LMDB

/// A table's notes: up to 256 short values that belong to it, for the module that uses it (schemas, say). They are
/// freed with the table. Key in the database "tables": "s" ‖ table (4) ‖ number (1).
extension TableSpace {
  /// Sets note `number` of `table`.
  public func setNote(
    _ number: UInt8, _ bytes: UnsafeRawBufferPointer, of table: TableID, in transaction: borrowing WriteTransaction
  ) throws {
    _ = try existing(table, in: transaction)
    try unsafe transaction.put(tables, TableKeys.note(table, number), bytes)
  }

  /// All notes of `table` in the order of their numbers.
  public func notes<T: ReadableTransaction & ~Copyable>(
    of table: TableID, in transaction: borrowing T
  ) throws -> [(number: UInt8, bytes: [UInt8])] {
    let head = TableKeys.note(table, 0).dropLast()
    return try transaction.withCursor(tables) { cursor in
      var result: [(UInt8, [UInt8])] = []
      var isThere = try unsafe head.withUnsafeBytes { try unsafe cursor.seek(atLeast: $0) }
      while isThere, unsafe cursor.key.count == head.count + 1 && cursor.key.starts(with: head) {
        unsafe result.append((cursor.key[head.count], [UInt8](cursor.value)))
        isThere = try cursor.next()
      }
      return result
    }
  }

  func deleteNotes(of table: TableID, in transaction: borrowing WriteTransaction) throws {
    for (number, _) in try notes(of: table, in: transaction) {
      try transaction.delete(tables, TableKeys.note(table, number))
    }
  }
}
