internal import Bytes
package import LMDB

extension RowQuery {
  /// The primary keys of the `count` rows with the largest values of the column at `position` (the smallest, if
  /// ascending), in that order; equal values by primary key.
  package func top<T: ReadableTransaction & ~Copyable>(
    _ count: Int, by position: Int, ascending: Bool, _ table: TableView, in transaction: borrowing T
  ) throws -> [[UInt8]] {
    if count <= 0 { return [] }
    var best = TopRows(count: count, type: table.schema.columns[position].type, ascending: ascending)
    guard case .scan(let start, let end) = AccessPath.choose(condition, table.schema), rowFilter == nil else {
      try forEach(table, in: transaction) { row in
        let cell = try row.cell(position)
        if best.takes(cell) { unsafe best.insert(cell, key: [UInt8](row.key)) }
        return true
      }
      return best.keys()
    }
    let cursor = table.cursor
    try forEachSegment(table, start, end, in: transaction) { segment in
      if segment.group != nil, !segment.rows.isEmpty {
        let vector = segment.vector(position)
        let mask = unsafe segment.mask
        for row in segment.rows where unsafe mask[row] != 0 && best.takes(vector.cell(row)) {
          segment.position(cursor, atBase: row)
          unsafe best.insert(vector.cell(row), key: [UInt8](cursor.key))
        }
      }
      for touched in segment.touched where segment.position(cursor, at: touched) {
        let cell = try cursor.cell(position)
        if best.takes(cell), try holds(cursor) { unsafe best.insert(cell, key: [UInt8](cursor.key)) }
      }
      return true
    }
    return best.keys()
  }

  /// What the query does, in words.
  package func explain<T: ReadableTransaction & ~Copyable>(
    _ table: TableView, in transaction: borrowing T
  ) throws -> String {
    let what: String
    switch AccessPath.choose(condition, table.schema) {
    case .keys(let keys): what = "get of \(keys.count) primary key\(keys.count == 1 ? "" : "s")"
    case .index(let index, let ranges):
      if let keys = try table.keys(of: index, ranges, in: transaction) {
        what = "index \(index.name): \(keys.count) rows in \(ranges.count) range\(ranges.count == 1 ? "" : "s")"
      } else {
        what = "scan of all rows: index \(index.name) names too many"
      }
    case .scan(nil, nil): what = "scan of all rows"
    case .scan: what = "scan of a range of primary keys"
    }
    var text = what
    if case .always(true) = condition {} else { text += "; where \(condition.description(table.schema))" }
    if rowFilter != nil { text += "; filtered row by row" }
    return text
  }
}

/// The best rows so far: up to twice as many as wanted, sorted and cut when there are more.
private struct TopRows {
  private struct Entry {
    let value: OwnedCell
    let key: [UInt8]
  }

  private let count: Int
  private let limit: Int
  private let type: ColumnType
  private let ascending: Bool
  private var entries: [Entry] = []
  /// The value of the last row that was kept at the last cut: what is worse cannot be among the best.
  private var worst: OwnedCell?

  init(count: Int, type: ColumnType, ascending: Bool) {
    self.count = count
    limit = count > Int.max / 2 ? .max : max(2 * count, 32)
    self.type = type
    self.ascending = ascending
  }

  private static func compare(_ left: Cell, _ right: Cell, _ storage: ColumnType.Storage, ascending: Bool) -> Int {
    let order = CellOrder.compare(left, right, storage)
    return ascending ? order : -order
  }

  /// Whether a row with this value may be among the best; equal values are decided by their keys.
  func takes(_ cell: Cell) -> Bool {
    guard let worst else { return true }
    return Self.compare(cell, worst.cell, type.storage, ascending: ascending) <= 0
  }

  mutating func insert(_ cell: Cell, key: [UInt8]) {
    entries.append(Entry(value: OwnedCell(ColumnValue(cell, type)), key: key))
    if entries.count == limit { cut() }
  }

  private mutating func cut() {
    let storage = type.storage
    let ascending = ascending
    entries.sort { left, right in
      let order = Self.compare(left.value.cell, right.value.cell, storage, ascending: ascending)
      return order == 0 ? left.key.lexicographicallyPrecedes(right.key) : order < 0
    }
    if entries.count < count { return }
    entries.removeSubrange(count...)
    worst = entries.last?.value
  }

  /// The keys of the best rows, the best first.
  mutating func keys() -> [[UInt8]] {
    cut()
    return entries.map(\.key)
  }
}
