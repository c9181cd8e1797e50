package import LMDB

/// Count, sum, minimum and maximum of one column over the rows of a query.
package struct ColumnSummary {
  /// Rows.
  package var rows = 0
  /// Rows whose value is not nil.
  package var values = 0
  /// The sum of integers; wide enough never to overflow.
  package var integerSum: Int128 = 0
  package var realSum = 0.0
  package var minimum = ColumnValue.null
  package var maximum = ColumnValue.null
}

extension RowQuery {
  /// The number of rows.
  package func count<T: ReadableTransaction & ~Copyable>(
    _ table: TableView, in transaction: borrowing T
  ) throws -> Int {
    guard case .scan(let start, let end) = AccessPath.choose(condition, table.schema), rowFilter == nil else {
      var count = 0
      try forEach(table, in: transaction) { _ in
        count += 1
        return true
      }
      return count
    }
    var count = 0
    try forEachSegment(table, start, end, in: transaction) { segment in
      for row in segment.rows { unsafe count += Int(segment.mask[row]) }
      for touched in segment.touched where segment.position(table.cursor, at: touched) {
        if try holds(table.cursor) { count += 1 }
      }
      return true
    }
    return count
  }

  /// What `wants` asks for, of the column at `position`.
  package func summary<T: ReadableTransaction & ~Copyable>(
    of position: Int, sum: Bool = false, extremes: Bool = false, _ table: TableView, in transaction: borrowing T
  ) throws -> ColumnSummary {
    var state = SummaryState(table.schema.columns[position].type, sum: sum, extremes: extremes)
    guard case .scan(let start, let end) = AccessPath.choose(condition, table.schema), rowFilter == nil else {
      try forEach(table, in: transaction) { row in
        state.add(try row.cell(position))
        return true
      }
      return state.result
    }
    try forEachSegment(table, start, end, in: transaction) { segment in
      state.add(segment, position, isUnconditional: isUnconditional)
      for touched in segment.touched where segment.position(table.cursor, at: touched) {
        if try holds(table.cursor) { state.add(try table.cursor.cell(position)) }
      }
      return true
    }
    return state.result
  }

  private var isUnconditional: Bool {
    if case .always(true) = condition { return true }
    return false
  }
}

/// A summary while rows are added.
private struct SummaryState {
  private let type: ColumnType
  private let wantsSum: Bool
  private let wantsExtremes: Bool
  private var summary = ColumnSummary()
  /// Extremes so far, kept as values: cells do not outlive the row.
  private var low: OwnedCell?
  private var high: OwnedCell?

  init(_ type: ColumnType, sum: Bool, extremes: Bool) {
    self.type = type
    wantsSum = sum
    wantsExtremes = extremes
  }

  var result: ColumnSummary {
    var result = summary
    if let low { result.minimum = ColumnValue(low.cell, type) }
    if let high { result.maximum = ColumnValue(high.cell, type) }
    return result
  }

  mutating func add(_ cell: Cell) {
    summary.rows += 1
    if cell.isNull { return }
    summary.values += 1
    if wantsSum { addToSum(cell) }
    if wantsExtremes { widen(cell) }
  }

  private mutating func addToSum(_ cell: Cell) {
    switch type {
    case .float, .double: summary.realSum += cell.real
    case .uint64: summary.integerSum += Int128(UInt64(bitPattern: cell.integer) ^ (1 << 63))
    default: summary.integerSum += Int128(cell.integer)
    }
  }

  private mutating func widen(_ cell: Cell) {
    if low.map({ CellOrder.compare(cell, $0.cell, type.storage) < 0 }) ?? true {
      low = OwnedCell(ColumnValue(cell, type))
    }
    if high.map({ CellOrder.compare(cell, $0.cell, type.storage) > 0 }) ?? true {
      high = OwnedCell(ColumnValue(cell, type))
    }
  }

  /// Adds the rows of a group that its mask selects.
  mutating func add(_ segment: Segment, _ position: Int, isUnconditional: Bool) {
    guard let group = segment.group, !segment.rows.isEmpty else { return }
    let isWhole = isUnconditional && segment.touched.isEmpty && segment.rows.count == group.rows
    if isWhole, !wantsSum, let column = segment.column(position) {
      // Statistics answer for the whole group.
      summary.rows += column.rows
      summary.values += column.rows - column.nullCount
      if wantsExtremes, column.nullCount < column.rows {
        widen(column.cell(column.minRow))
        widen(column.cell(column.maxRow))
      }
      return
    }
    var selected = segment.selectedCount
    summary.rows += selected
    if selected == 0 { return }
    let vector = segment.vector(position)
    if vector.hasNulls {
      let (mask, nulls) = unsafe (segment.mask, vector.nulls)
      for row in segment.rows { unsafe mask[row] &= nulls[row] ^ 1 }
      selected = segment.selectedCount
    }
    summary.values += selected
    if wantsSum { addSum(vector, segment) }
    guard wantsExtremes else { return }
    let mask = unsafe segment.mask
    for row in segment.rows where unsafe mask[row] != 0 { widen(vector.cell(row)) }
  }

  private mutating func addSum(_ vector: ColumnVector, _ segment: Segment) {
    let rows = segment.rows
    let (words, mask) = unsafe (vector.words, segment.mask)
    if type.storage == .real {
      var sum = 0.0
      for row in rows { unsafe sum += mask[row] != 0 ? Double(bitPattern: words[row]) : 0 }
      summary.realSum += sum
      return
    }
    guard type != .uint64, unsafe Self.isSmall(words, rows) else {
      for row in rows where unsafe mask[row] != 0 { addToSum(vector.cell(row)) }
      return
    }
    var sum: Int64 = 0
    for row in rows { unsafe sum &+= Int64(bitPattern: words[row] & (0 &- UInt64(mask[row]))) }
    summary.integerSum += Int128(sum)
  }

  /// Whether the rows' sum surely fits: all values within ±2^46, and never more than 2^16 rows.
  private static func isSmall(_ words: UnsafeMutablePointer<UInt64>, _ rows: Range<Int>) -> Bool {
    var high: UInt64 = 0
    for row in rows {
      let value = unsafe Int64(bitPattern: words[row])
      high |= UInt64(bitPattern: value ^ (value >> 63))
    }
    return high >> 46 == 0
  }
}
