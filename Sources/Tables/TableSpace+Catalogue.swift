import Bytes
public import LMDB
import Synchronization

extension TableSpace {
  /// Names have at most this many UTF-8 bytes.
  public static let maximumNameBytes = 400

  /// Makes a table. `name` is optional: modules with their own catalogue keep the id there.
  ///
  /// - Throws: `tableExists`, `nameTooLong`.
  public func create(
    named name: String? = nil, format: UInt8 = 0, in transaction: borrowing WriteTransaction
  ) throws -> TableID {
    if let name, try table(named: name, in: transaction) != nil {
      throw TableError(.tableExists, detail: "a table named \"\(name)\" exists; open it or choose another name")
    }
    let table = TableID(value: try nextID(in: transaction))
    if let name { try put(name, table, in: transaction) }
    try put(TableState(format: format), of: table, in: transaction)
    return table
  }

  /// The table of that name, or nil.
  public func table<T: ReadableTransaction & ~Copyable>(
    named name: String, in transaction: borrowing T
  ) throws -> TableID? {
    guard let bytes = unsafe try transaction.get(tables, try key(ofName: name)) else { return nil }
    return try unsafe decodeID(bytes, name)
  }

  /// The table of that name, made if there is none.
  public func tableOrNew(
    named name: String, format: UInt8 = 0, in transaction: borrowing WriteTransaction
  ) throws -> TableID {
    if let table = try table(named: name, in: transaction) { return table }
    return try create(named: name, format: format, in: transaction)
  }

  /// Every named table, in the order of their names' bytes.
  public func names<T: ReadableTransaction & ~Copyable>(
    in transaction: borrowing T
  ) throws -> [(name: String, table: TableID)] {
    try transaction.withCursor(tables) { cursor in
      var result: [(String, TableID)] = []
      let start: [UInt8] = [UInt8(ascii: "n")]
      var isThere = unsafe try start.withUnsafeBytes { unsafe try cursor.seek(atLeast: $0) }
      while isThere, unsafe cursor.key[0] == start[0] {
        let name = unsafe String(decoding: cursor.key.dropFirst(), as: UTF8.self)
        result.append((name, try unsafe decodeID(cursor.value, name)))
        isThere = try cursor.next()
      }
      return result
    }
  }

  /// Gives the table named `old` the name `new`, which must be free.
  public func rename(_ old: String, to new: String, in transaction: borrowing WriteTransaction) throws {
    guard let table = try table(named: old, in: transaction) else {
      throw TableError(.unknownTable, detail: "there is no table named \"\(old)\"")
    }
    guard try self.table(named: new, in: transaction) == nil else {
      throw TableError(.tableExists, detail: "a table named \"\(new)\" exists")
    }
    try transaction.delete(tables, try key(ofName: old))
    try put(new, table, in: transaction)
  }

  /// Drops a table: at once for transactions to come, while its pages are freed by later calls of `maintain`. Snapshots
  /// that are open keep it whole.
  public func drop(_ table: TableID, in transaction: borrowing WriteTransaction) throws {
    var state = try existing(table, in: transaction)
    state.isDropped = true
    state.sweep = nil
    for (name, named) in try names(in: transaction) where named == table {
      try transaction.delete(tables, try key(ofName: name))
    }
    try put(state, of: table, in: transaction)
    noteActive(table)
  }

  private func key(ofName name: String) throws(TableError) -> [UInt8] {
    guard !name.isEmpty, name.utf8.count <= Self.maximumNameBytes else {
      throw TableError(
        .nameTooLong, detail: "a table name has 1 to \(Self.maximumNameBytes) bytes, this one \(name.utf8.count)")
    }
    return TableKeys.name(name)
  }

  private func put(_ name: String, _ table: TableID, in transaction: borrowing WriteTransaction) throws {
    try unsafe TableKeys.big(table.value).withUnsafeBytes {
      try unsafe transaction.put(tables, try key(ofName: name), $0)
    }
  }

  private func decodeID(_ bytes: UnsafeRawBufferPointer, _ name: String) throws(TableError) -> TableID {
    guard bytes.count == 4 else { throw .damaged(nil, "the name \"\(name)\"", "it holds no table id") }
    return TableID(value: unsafe bytes.big(UInt32.self, at: 0))
  }

  private func nextID(in transaction: borrowing WriteTransaction) throws -> UInt32 {
    var next: UInt32 = 1
    if let bytes = unsafe try transaction.get(tables, TableKeys.counters) {
      guard bytes.count == 4 else { throw TableError.damaged(nil, "the table counter", "\(bytes.count) bytes") }
      next = unsafe bytes.big(UInt32.self, at: 0)
    }
    try unsafe TableKeys.big(next + 1).withUnsafeBytes {
      try unsafe transaction.put(tables, TableKeys.counters, $0)
    }
    return next
  }

  /// Notes that `maintain` should look at `table`.
  func noteActive(_ table: TableID) {
    memory.withLock { _ = $0.active?.insert(table) }
  }
}
