internal import Bytes

/// A condition on the columns of a row, resolved to column positions when the query is prepared.
///
/// Comparisons are two-valued: nil equals nil and nothing else; `<`, `<=`, `>` and `>=` are false where either side is
/// nil; `!=` is the opposite of `==`. NaN equals NaN and is above every number; −0 equals +0; strings compare by their
/// UTF-8 bytes.
package indirect enum Condition: Sendable {
  case always(Bool)
  case compare(column: Int, Comparison, Literal)
  case isOneOf(column: Int, [Literal])
  case hasPrefix(column: Int, Literal)
  case contains(column: Int, Literal)
  case and(Condition, Condition)
  case or(Condition, Condition)
  case not(Condition)

  package enum Comparison: Sendable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
  }

  /// A value to compare with, converted to the column's type.
  package struct Literal: Sendable {
    package let value: ColumnValue
    package let owned: OwnedCell
    package let type: ColumnType

    package init(_ value: ColumnValue, _ type: ColumnType) {
      self.value = value
      self.type = type
      owned = OwnedCell(value)
    }
  }

  /// The positions of the columns that it reads.
  package var columns: Set<Int> {
    switch self {
    case .always: []
    case .compare(let column, _, _), .isOneOf(let column, _), .hasPrefix(let column, _), .contains(let column, _):
      [column]
    case .and(let left, let right), .or(let left, let right): left.columns.union(right.columns)
    case .not(let inner): inner.columns
    }
  }

  /// The conditions that must all hold.
  package var conjuncts: [Condition] {
    switch self {
    case .and(let left, let right): left.conjuncts + right.conjuncts
    case .always(true): []
    default: [self]
    }
  }

  /// Both conditions.
  package func and(_ other: Condition) -> Condition {
    if case .always(true) = self { return other }
    if case .always(true) = other { return self }
    return .and(self, other)
  }
}

extension Condition {
  /// Whether the condition holds for one row, whose cells `cell` gives by column position.
  package func holds(_ cell: (Int) throws -> Cell) rethrows -> Bool {
    switch self {
    case .always(let answer): return answer
    case .compare(let column, let comparison, let literal):
      return Self.holds(try cell(column), comparison, literal)
    case .isOneOf(let column, let literals):
      let value = try cell(column)
      return literals.contains { Self.holds(value, .equal, $0) }
    case .hasPrefix(let column, let literal): return Self.hasPrefix(try cell(column), literal.owned.cell)
    case .contains(let column, let literal): return Self.contains(try cell(column), literal.owned.cell)
    case .and(let left, let right):
      guard try left.holds(cell) else { return false }
      return try right.holds(cell)
    case .or(let left, let right):
      if try left.holds(cell) { return true }
      return try right.holds(cell)
    case .not(let inner): return try !inner.holds(cell)
    }
  }

  static func holds(_ cell: Cell, _ comparison: Comparison, _ literal: Literal) -> Bool {
    let other = literal.owned.cell
    let order = CellOrder.compare(cell, other, literal.type.storage)
    switch comparison {
    case .equal: return order == 0
    case .notEqual: return order != 0
    default: if cell.isNull || other.isNull { return false }
    }
    switch comparison {
    case .less: return order < 0
    case .lessOrEqual: return order <= 0
    case .greater: return order > 0
    default: return order >= 0
    }
  }

  static func hasPrefix(_ cell: Cell, _ prefix: Cell) -> Bool {
    if cell.isNull || prefix.isNull || cell.count < prefix.count { return false }
    return unsafe cell.bytes.slice(0, Int(prefix.count)).compare(prefix.bytes) == 0
  }

  static func contains(_ cell: Cell, _ part: Cell) -> Bool {
    if cell.isNull || part.isNull || cell.count < part.count { return false }
    let bytes = unsafe cell.bytes
    let wanted = unsafe part.bytes
    if wanted.count == 0 { return true }
    for start in 0...(bytes.count - wanted.count)
    where unsafe bytes[start] == wanted[0] && bytes.slice(start, wanted.count).compare(wanted) == 0 {
      return true
    }
    return false
  }
}

extension Condition {
  /// The condition in words, with the columns' names.
  package func description(_ schema: ViewSchema) -> String {
    func name(_ position: Int) -> String { schema.columns[position].definition.name }
    switch self {
    case .always(let answer): return "\(answer)"
    case .compare(let column, let comparison, let literal):
      return "\(name(column)) \(comparison.sign) \(literal.value)"
    case .isOneOf(let column, let literals):
      return "\(name(column)) is one of \(literals.map(\.value.description).joined(separator: ", "))"
    case .hasPrefix(let column, let literal): return "\(name(column)) begins with \(literal.value)"
    case .contains(let column, let literal): return "\(name(column)) contains \(literal.value)"
    case .and(let left, let right): return "(\(left.description(schema)) and \(right.description(schema)))"
    case .or(let left, let right): return "(\(left.description(schema)) or \(right.description(schema)))"
    case .not(let inner): return "not \(inner.description(schema))"
    }
  }
}

extension Condition.Comparison {
  var sign: String {
    switch self {
    case .equal: "=="
    case .notEqual: "!="
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    }
  }
}
