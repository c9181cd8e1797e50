internal import Bytes
public import Records

/// Reads the rows of one view in one snapshot. Used by the snapshot's thread, and not longer than the snapshot.
public struct ViewReader<Row: Record> {
  let snapshot: ViewSnapshot
  let table: TableView
  let plan: RowPlan

  /// The row of a primary key, or nil. About 1 µs.
  ///
  /// - Throws: `invalidQuery` if the value is none of the key's type; `damaged`; `schemaMismatch` if a stored value has
  ///   no place in the struct.
  public func get<Key: ColumnConvertible>(_ key: Key) throws -> Row? {
    unsafe try plan.keyBytes(key.columnValue).withUnsafeBytes { unsafe try get(keyBytes: $0) }
  }

  /// The row of a primary key, or nil.
  public func get(_ key: String) throws -> Row? {
    guard plan.key.type == .string else { return try get(keyValue: .string(key)) }
    var key = key
    return try key.withUTF8 { unsafe try get(keyBytes: UnsafeRawBufferPointer($0)) }
  }

  private func get(keyValue: ColumnValue) throws -> Row? {
    unsafe try plan.keyBytes(keyValue).withUnsafeBytes { unsafe try get(keyBytes: $0) }
  }

  /// The row whose primary key has these bytes in `KeyEncoding`, or nil.
  @unsafe
  public func get(keyBytes: UnsafeRawBufferPointer) throws -> Row? {
    try snapshot.withTransaction { transaction in
      guard let row = unsafe try table.find(keyBytes, in: transaction) else { return nil }
      return try plan.row(row)
    }
  }

  /// The rows of several primary keys, nil where there is none, in the order of `keys`. Looked up in key order.
  public func multiGet<Key: ColumnConvertible>(_ keys: [Key]) throws -> [Row?] {
    var wanted: [(key: [UInt8], place: Int)] = []
    for (place, key) in keys.enumerated() { wanted.append((try plan.keyBytes(key.columnValue), place)) }
    wanted.sort { $0.key.lexicographicallyPrecedes($1.key) }
    var rows = [Row?](repeating: nil, count: keys.count)
    for (key, place) in wanted { rows[place] = unsafe try key.withUnsafeBytes { unsafe try get(keyBytes: $0) } }
    return rows
  }

  /// Whether there is a row of this primary key.
  public func contains<Key: ColumnConvertible>(_ key: Key) throws -> Bool {
    try snapshot.withTransaction { transaction in
      unsafe try plan.keyBytes(key.columnValue).withUnsafeBytes { unsafe try table.find($0, in: transaction) != nil }
    }
  }

  /// All rows.
  public var all: Query<Row> { Query(reader: self) }

  /// The rows for which a condition on their columns holds: `{ $0.campaign == 7 && $0.bid > 0.5 }`. The closure runs
  /// once; the condition is evaluated over columns, or through an index.
  public func `where`(_ condition: (Columns<Row>) -> Predicate<Row>) -> Query<Row> { all.where(condition) }

  /// The rows whose column has this value.
  public func `where`<Value: ColumnConvertible>(_ column: KeyPath<Row, Value>, equals value: Value) -> Query<Row> {
    all.where(column, equals: value)
  }

  /// The rows whose column lies in this range.
  public func `where`<Value: ColumnConvertible & Comparable>(
    _ column: KeyPath<Row, Value>, in range: ClosedRange<Value>
  ) -> Query<Row> { all.where(column, in: range) }

  /// The rows of which `isIncluded` says so: any Swift code over a whole row, slower than `where`.
  public func filter(_ isIncluded: @escaping (Row) throws -> Bool) -> Query<Row> { all.filter(isIncluded) }

  /// The number of rows.
  public func count() throws -> Int { try all.count() }

  /// The definition of the view in this snapshot.
  public var definition: ViewDefinition { table.schema.definition }
}

extension RowPlan {
  /// The struct of a row.
  func row<Row>(_ cursor: RowCursor) throws(ViewError) -> Row {
    let keyCell = try cursor.cell(0)
    do {
      return unsafe try withUnsafeTemporaryAllocation(of: Row.self, capacity: 1) { memory in
        let start = unsafe memory.baseAddress.map { UnsafeMutableRawPointer($0) }
        if let start = unsafe start { unsafe try load(keyCell, cursor, into: start) }
        return unsafe memory.moveElement(from: 0)
      }
    } catch let error as ViewError {
      throw error
    } catch {
      throw ViewError(.storage, view: schema.name, "a row could not be read", cause: error)
    }
  }

  private func load(_ keyCell: Cell, _ cursor: RowCursor, into memory: UnsafeMutableRawPointer) throws(ViewError) {
    unsafe try load(key: keyCell, into: memory) { step, _ throws(ViewError) in try cursor.cell(step.column) }
  }
}
