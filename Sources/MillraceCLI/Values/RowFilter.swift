import Millrace

/// A filter prepared for a view: what the view can answer itself, with its indexes, and what is asked of each row.
struct RowFilter {
  /// Conditions of the view's own query; all must hold.
  private(set) var conditions: [DynamicQuery.Condition] = []
  /// Must hold, too; nil if there is no more.
  private(set) var rest: RowTest?

  /// - Throws: `UsageError` for a column that is not there, and for literals of another type.
  init(_ expression: FilterExpression?, _ view: ViewDefinition) throws(UsageError) {
    guard let expression else { return }
    for part in Self.conjuncts(expression) {
      if let condition = try Self.condition(part, view) {
        conditions.append(condition)
      } else {
        let test = try RowTest(part, view)
        rest = rest.map { .and($0, test) } ?? test
      }
    }
  }

  private static func conjuncts(_ expression: FilterExpression) -> [FilterExpression] {
    if case .and(let left, let right) = expression { return conjuncts(left) + conjuncts(right) }
    return [expression]
  }

  /// What the view can answer; nil for the rest.
  private static func condition(
    _ expression: FilterExpression, _ view: ViewDefinition
  ) throws(UsageError) -> DynamicQuery.Condition? {
    switch expression {
    case .compare(let name, let comparison, let literal):
      let column = try view.requiredColumn(name)
      let value = try ColumnLiteral(literal, column)
      // "x < null" holds for no row; the view would say so too, but an index range of it makes no sense.
      guard value.isExact, !value.value.isNull else { return nil }
      return DynamicQuery.Condition(column.name, comparison.ofView, value.value)
    case .text(let name, let test, let text):
      let column = try RowTest.textColumn(name, view)
      switch test {
      case .contains: return DynamicQuery.Condition(column.name, .contains, .string(text))
      case .startsWith: return DynamicQuery.Condition(column.name, .hasPrefix, .string(text))
      case .endsWith: return nil
      }
    case .isNull(let name):
      let column = try view.requiredColumn(name)
      return column.type == .opaque ? nil : DynamicQuery.Condition(column.name, .equal, .null)
    default: return nil
    }
  }
}

/// A filter that is asked of rows.
indirect enum RowTest {
  case compare(column: String, FilterExpression.Comparison, ColumnValue)
  case text(column: String, FilterExpression.TextTest, String)
  case oneOf(column: String, [ColumnValue])
  case isNull(column: String)
  case not(RowTest)
  case and(RowTest, RowTest)
  case or(RowTest, RowTest)

  init(_ expression: FilterExpression, _ view: ViewDefinition) throws(UsageError) {
    switch expression {
    case .compare(let name, let comparison, let literal):
      let column = try view.requiredColumn(name)
      self = .compare(column: name, comparison, try ColumnLiteral(literal, column).value)
    case .text(let name, let test, let text):
      self = .text(column: try Self.textColumn(name, view).name, test, text)
    case .oneOf(let name, let literals):
      let column = try view.requiredColumn(name)
      var values: [ColumnValue] = []
      for literal in literals { values.append(try ColumnLiteral(literal, column).value) }
      self = .oneOf(column: name, values)
    case .isNull(let name): self = .isNull(column: try view.requiredColumn(name).name)
    case .not(let inner): self = .not(try RowTest(inner, view))
    case .and(let left, let right): self = .and(try RowTest(left, view), try RowTest(right, view))
    case .or(let left, let right): self = .or(try RowTest(left, view), try RowTest(right, view))
    }
  }

  static func textColumn(_ name: String, _ view: ViewDefinition) throws(UsageError) -> ColumnDefinition {
    let column = try view.requiredColumn(name)
    guard column.type == .string else {
      throw UsageError(
        message: "column '\(name)' is \(column.type): only texts can be searched for parts", command: "query")
    }
    return column
  }

  /// Whether it holds for the row whose values `value` gives by column.
  func holds(_ value: (String) -> ColumnValue) -> Bool {
    switch self {
    case .compare(let column, let comparison, let literal):
      return Self.holds(value(column), comparison, literal)
    case .text(let column, let test, let part):
      guard case .string(let text) = value(column) else { return false }
      return test.holds(Array(text.utf8), Array(part.utf8))
    case .oneOf(let column, let literals):
      let found = value(column)
      return literals.contains { RowValueOrder.compare(found, $0) == 0 }
    case .isNull(let column): return value(column).isNull
    case .not(let inner): return !inner.holds(value)
    case .and(let left, let right): return left.holds(value) && right.holds(value)
    case .or(let left, let right): return left.holds(value) || right.holds(value)
    }
  }

  private static func holds(
    _ value: ColumnValue, _ comparison: FilterExpression.Comparison, _ literal: ColumnValue
  ) -> Bool {
    let order = RowValueOrder.compare(value, literal)
    switch comparison {
    case .equal: return order == 0
    case .notEqual: return order != 0
    default:
      guard let order, !value.isNull, !literal.isNull else { return false }
      switch comparison {
      case .less: return order < 0
      case .lessOrEqual: return order <= 0
      case .greater: return order > 0
      default: return order >= 0
      }
    }
  }
}

extension FilterExpression.TextTest {
  func holds(_ text: [UInt8], _ part: [UInt8]) -> Bool {
    guard text.count >= part.count else { return false }
    switch self {
    case .startsWith: return text.starts(with: part)
    case .endsWith: return text.suffix(part.count).elementsEqual(part)
    case .contains:
      return (0...(text.count - part.count)).contains { text[$0..<($0 + part.count)].elementsEqual(part) }
    }
  }
}

extension FilterExpression.Comparison {
  var ofView: DynamicQuery.Comparison {
    switch self {
    case .equal: .equal
    case .notEqual: .notEqual
    case .less: .less
    case .lessOrEqual: .lessOrEqual
    case .greater: .greater
    case .greaterOrEqual: .greaterOrEqual
    }
  }
}

extension ViewDefinition {
  /// The column called `name`.
  ///
  /// - Throws: `UsageError` naming the closest one.
  func requiredColumn(_ name: String) throws(UsageError) -> ColumnDefinition {
    if let column = columns.first(where: { $0.name == name }) { return column }
    let names = columns.map(\.name)
    let hint = Suggestion.text(for: name, among: names)
    let all = hint.isEmpty ? "; there are \(names.joined(separator: ", "))" : ""
    throw UsageError(message: "view '\(self.name)' has no column '\(name)'\(hint)\(all)", command: "query")
  }
}
