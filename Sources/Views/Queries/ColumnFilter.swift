/// Evaluates conditions over the columns of one group at a time: a byte per row, 1 where the condition holds.
///
/// Keeps scratch memory: one thread at a time. Invariant: it has room for the rows of the largest group.
@safe
final class ColumnFilter {
  private var masks: [UnsafeMutablePointer<UInt8>] = unsafe []
  private let ordered = UnsafeMutablePointer<Int64>.allocate(capacity: GroupLayout.maxRows)
  private let codes = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << 16)

  deinit {
    for index in unsafe masks.indices { unsafe masks[index].deallocate() }
    unsafe ordered.deallocate()
    unsafe codes.deallocate()
  }

  /// What statistics alone say of a condition.
  enum Verdict { case all, none, some }

  /// Writes the answer for every row of the segment's group into `mask`.
  func evaluate(_ condition: Condition, _ source: Segment, depth: Int = 0, into mask: UnsafeMutablePointer<UInt8>) {
    let rows = source.group?.rows ?? 0
    switch condition {
    case .always(let answer): unsafe mask.update(repeating: answer ? 1 : 0, count: rows)
    case .compare(let column, let comparison, let literal):
      unsafe compare(column, comparison, literal, source, mask)
    case .isOneOf(let column, let literals):
      unsafe perValue(column, source, mask) { cell in literals.contains { Condition.holds(cell, .equal, $0) } }
    case .hasPrefix(let column, let literal):
      unsafe perValue(column, source, mask) { Condition.hasPrefix($0, literal.owned.cell) }
    case .contains(let column, let literal):
      unsafe perValue(column, source, mask) { Condition.contains($0, literal.owned.cell) }
    case .and(let left, let right):
      unsafe evaluate(left, source, depth: depth + 1, into: mask)
      let other = unsafe scratch(depth)
      unsafe evaluate(right, source, depth: depth + 1, into: other)
      for row in 0..<rows { unsafe mask[row] &= other[row] }
    case .or(let left, let right):
      unsafe evaluate(left, source, depth: depth + 1, into: mask)
      let other = unsafe scratch(depth)
      unsafe evaluate(right, source, depth: depth + 1, into: other)
      for row in 0..<rows { unsafe mask[row] |= other[row] }
    case .not(let inner):
      unsafe evaluate(inner, source, depth: depth + 1, into: mask)
      for row in 0..<rows { unsafe mask[row] ^= 1 }
    }
  }

  private func scratch(_ depth: Int) -> UnsafeMutablePointer<UInt8> {
    while unsafe masks.count <= depth { unsafe masks.append(.allocate(capacity: GroupLayout.maxRows)) }
    return unsafe masks[depth]
  }

  private func compare(
    _ column: Int, _ comparison: Condition.Comparison, _ literal: Condition.Literal, _ source: Segment,
    _ mask: UnsafeMutablePointer<UInt8>
  ) {
    if literal.type.storage == .bytes || literal.owned.cell.isNull {
      return unsafe perValue(column, source, mask) { Condition.holds($0, comparison, literal) }
    }
    let rows = source.group?.rows ?? 0
    switch Self.verdict(source.column(column), comparison, literal) {
    case .all: return unsafe mask.update(repeating: 1, count: rows)
    case .none: return unsafe mask.update(repeating: 0, count: rows)
    case .some: break
    }
    let vector = source.vector(column)
    if literal.type.storage == .real {
      unsafe compareReals(vector, rows, comparison, literal.owned.cell.real, mask)
    } else {
      let values = unsafe UnsafeRawPointer(vector.words).assumingMemoryBound(to: Int64.self)
      unsafe Self.compare(values, rows, comparison, literal.owned.cell.integer, mask)
    }
    if !vector.hasNulls { return }
    let nulls = unsafe vector.nulls
    // The bound is not nil here: nil rows are unequal to it and not ordered with it.
    if comparison == .notEqual {
      for row in 0..<rows { unsafe mask[row] |= nulls[row] }
    } else {
      for row in 0..<rows { unsafe mask[row] &= nulls[row] ^ 1 }
    }
  }

  private static func compare(
    _ values: UnsafePointer<Int64>, _ rows: Int, _ comparison: Condition.Comparison, _ bound: Int64,
    _ mask: UnsafeMutablePointer<UInt8>
  ) {
    switch comparison {
    case .equal: for row in 0..<rows { unsafe mask[row] = values[row] == bound ? 1 : 0 }
    case .notEqual: for row in 0..<rows { unsafe mask[row] = values[row] != bound ? 1 : 0 }
    case .less: for row in 0..<rows { unsafe mask[row] = values[row] < bound ? 1 : 0 }
    case .lessOrEqual: for row in 0..<rows { unsafe mask[row] = values[row] <= bound ? 1 : 0 }
    case .greater: for row in 0..<rows { unsafe mask[row] = values[row] > bound ? 1 : 0 }
    case .greaterOrEqual: for row in 0..<rows { unsafe mask[row] = values[row] >= bound ? 1 : 0 }
    }
  }

  private func compareReals(
    _ vector: ColumnVector, _ rows: Int, _ comparison: Condition.Comparison, _ bound: Double,
    _ mask: UnsafeMutablePointer<UInt8>
  ) {
    let words = unsafe vector.words
    if bound.isNaN {
      // The processor's comparisons are all false for it; the order of views has a place for it.
      for row in 0..<rows { unsafe ordered[row] = CellOrder.ordered(Double(bitPattern: words[row])) }
      return unsafe Self.compare(ordered, rows, comparison, CellOrder.ordered(bound), mask)
    }
    let values = unsafe UnsafeRawPointer(words).assumingMemoryBound(to: Double.self)
    switch comparison {
    case .equal: for row in 0..<rows { unsafe mask[row] = values[row] == bound ? 1 : 0 }
    case .notEqual: for row in 0..<rows { unsafe mask[row] = values[row] == bound ? 0 : 1 }
    case .less: for row in 0..<rows { unsafe mask[row] = values[row] < bound ? 1 : 0 }
    case .lessOrEqual: for row in 0..<rows { unsafe mask[row] = values[row] <= bound ? 1 : 0 }
    // Written so that NaN, above every number, is among them.
    case .greater: for row in 0..<rows { unsafe mask[row] = values[row] <= bound ? 0 : 1 }
    case .greaterOrEqual: for row in 0..<rows { unsafe mask[row] = values[row] < bound ? 0 : 1 }
    }
  }

  /// What minimum, maximum and null count of a group's column say of a comparison with a number.
  static func verdict(
    _ column: GroupColumn?, _ comparison: Condition.Comparison, _ literal: Condition.Literal
  ) -> Verdict {
    guard let column, column.nullCount < column.rows else { return .some }
    let storage = literal.type.storage
    let low = CellOrder.compare(column.cell(column.minRow), literal.owned.cell, storage)
    let high = CellOrder.compare(column.cell(column.maxRow), literal.owned.cell, storage)
    let (none, all): (Bool, Bool) =
      switch comparison {
      case .equal: (low > 0 || high < 0, low == 0 && high == 0)
      case .notEqual: (low == 0 && high == 0 && column.nullCount == 0, low > 0 || high < 0)
      case .less: (low >= 0, high < 0)
      case .lessOrEqual: (low > 0, high <= 0)
      case .greater: (high <= 0, low > 0)
      case .greaterOrEqual: (high < 0, low >= 0)
      }
    if none { return .none }
    // Where every value fits, nulls still do not, unless unequal is what is asked for.
    return all && (column.nullCount == 0 || comparison == .notEqual) ? .all : .some
  }

  /// Asks once per dictionary entry where there is one, else once per row.
  private func perValue(
    _ position: Int, _ source: Segment, _ mask: UnsafeMutablePointer<UInt8>, _ holds: (Cell) -> Bool
  ) {
    let rows = source.group?.rows ?? 0
    if let column = source.column(position), column.encoding == .dictionaryBytes {
      for code in 0..<column.dictionaryCount {
        unsafe codes[code] = unsafe holds(Cell(bytes: column.dictionary(code))) ? 1 : 0
      }
      for row in 0..<rows {
        unsafe mask[row] = unsafe codes[Int(column.number(column.width, at: column.values + row * column.width))]
      }
      guard column.nullCount > 0 else { return }
      let null: UInt8 = holds(.null) ? 1 : 0
      for row in 0..<rows where column.isNull(row) { unsafe mask[row] = null }
      return
    }
    let vector = source.vector(position)
    for row in 0..<rows { unsafe mask[row] = holds(vector.cell(row)) ? 1 : 0 }
  }
}
