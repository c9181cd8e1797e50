internal import Bytes
public import Records

/// The columns of a row, as a `where` closure sees them: `{ $0.campaign == 7 && $0.bid > 0.5 }`.
///
/// The closure runs once, when the query is prepared; its comparisons become conditions that are evaluated over whole
/// columns, or through an index. A key path of a computed property, or of a part of a property, makes the query throw.
@dynamicMemberLookup
public struct Columns<Row: Record> {
  package let resolver: ColumnResolver

  package init(resolver: ColumnResolver) { self.resolver = resolver }

  public subscript<Value>(dynamicMember keyPath: KeyPath<Row, Value>) -> ColumnReference<Row, Value> {
    ColumnReference(position: resolver.position(of: keyPath), resolver: resolver)
  }
}

/// Resolves key paths to column positions and keeps the first failure until the query runs.
package final class ColumnResolver {
  private let plan: RowPlan
  /// The first key path or literal that could not be resolved.
  package private(set) var failure: ViewError?

  package init(plan: RowPlan) { self.plan = plan }

  package func position<Row: Record>(of keyPath: PartialKeyPath<Row>) -> Int {
    do {
      return plan.step(field: try plan.layout.index(of: keyPath)).column
    } catch {
      fail(ViewError(.unknownColumn, view: plan.schema.name, "\(keyPath) names no column", cause: error))
      return 0
    }
  }

  package func type(_ position: Int) -> ColumnType { plan.schema.columns[position].type }

  package func fail(_ error: ViewError) { if failure == nil { failure = error } }

  package func literal(_ value: ColumnValue, _ position: Int) -> Condition.Literal {
    let type = type(position)
    guard let converted = value.converted(to: type) else {
      let name = plan.schema.columns[position].definition.name
      fail(ViewError(.invalidQuery, view: plan.schema.name, column: name, "\(value) is no \(type)"))
      return Condition.Literal(.null, type)
    }
    return Condition.Literal(converted, type)
  }
}

/// One column in a `where` closure.
public struct ColumnReference<Row: Record, Value> {
  let position: Int
  let resolver: ColumnResolver

  func compare(_ comparison: Condition.Comparison, _ value: ColumnValue) -> Predicate<Row> {
    Predicate(.compare(column: position, comparison, resolver.literal(value, position)))
  }
}

/// A condition on rows of one type, made by comparing columns in a `where` closure.
public struct Predicate<Row: Record>: Sendable {
  package let condition: Condition

  package init(_ condition: Condition) { self.condition = condition }

  public static func && (left: Predicate, right: Predicate) -> Predicate {
    Predicate(.and(left.condition, right.condition))
  }
  public static func || (left: Predicate, right: Predicate) -> Predicate {
    Predicate(.or(left.condition, right.condition))
  }
  public static prefix func ! (inner: Predicate) -> Predicate { Predicate(.not(inner.condition)) }
}

extension ColumnReference where Value: ColumnConvertible {
  public static func == (column: Self, value: Value) -> Predicate<Row> { column.compare(.equal, value.columnValue) }
  public static func != (column: Self, value: Value) -> Predicate<Row> { column.compare(.notEqual, value.columnValue) }
  public static func < (column: Self, value: Value) -> Predicate<Row> { column.compare(.less, value.columnValue) }
  public static func <= (column: Self, value: Value) -> Predicate<Row> {
    column.compare(.lessOrEqual, value.columnValue)
  }
  public static func > (column: Self, value: Value) -> Predicate<Row> { column.compare(.greater, value.columnValue) }
  public static func >= (column: Self, value: Value) -> Predicate<Row> {
    column.compare(.greaterOrEqual, value.columnValue)
  }

  /// Whether the column holds one of `values`.
  public func isOne(of values: some Sequence<Value>) -> Predicate<Row> {
    Predicate(.isOneOf(column: position, values.map { resolver.literal($0.columnValue, position) }))
  }

  /// Whether the value lies in `range`.
  public func isBetween(_ low: Value, and high: Value) -> Predicate<Row> {
    compare(.greaterOrEqual, low.columnValue) && compare(.lessOrEqual, high.columnValue)
  }
}

extension ColumnReference {
  /// Whether the column is nil.
  public var isNil: Predicate<Row> { compare(.equal, .null) }
}

extension ColumnReference where Value: TextColumn {
  /// Whether the UTF-8 bytes begin with those of `prefix`; false for nil.
  public func hasPrefix(_ prefix: String) -> Predicate<Row> {
    Predicate(.hasPrefix(column: position, resolver.literal(.string(prefix), position)))
  }

  /// Whether the UTF-8 bytes contain those of `part`; false for nil.
  public func contains(_ part: String) -> Predicate<Row> {
    Predicate(.contains(column: position, resolver.literal(.string(part), position)))
  }
}
