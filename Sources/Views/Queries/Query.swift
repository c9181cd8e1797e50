internal import Bytes
public import Records

/// Rows of a view, described: nothing is read before one of the finishing calls. Rows come in the order of their
/// primary keys unless it says otherwise.
///
/// A mistake in a condition (a computed property, a literal that does not fit) is thrown by the finishing call.
public struct Query<Row: Record> {
  let reader: ViewReader<Row>
  private var condition = Condition.always(true)
  private var filters: [(Row) throws -> Bool] = []
  private var failure: ViewError?

  init(reader: ViewReader<Row>) { self.reader = reader }

  // MARK: Describing

  /// Only rows for which a condition on their columns holds. See `ViewReader.where`.
  public func `where`(_ condition: (Columns<Row>) -> Predicate<Row>) -> Query {
    let resolver = ColumnResolver(plan: reader.plan)
    return adding(condition(Columns(resolver: resolver)).condition, resolver)
  }

  /// Only rows whose column has this value.
  public func `where`<Value: ColumnConvertible>(_ column: KeyPath<Row, Value>, equals value: Value) -> Query {
    let resolver = ColumnResolver(plan: reader.plan)
    let position = resolver.position(of: column)
    return adding(.compare(column: position, .equal, resolver.literal(value.columnValue, position)), resolver)
  }

  /// Only rows whose column lies in this range.
  public func `where`<Value: ColumnConvertible & Comparable>(
    _ column: KeyPath<Row, Value>, in range: ClosedRange<Value>
  ) -> Query {
    let resolver = ColumnResolver(plan: reader.plan)
    let position = resolver.position(of: column)
    let low = resolver.literal(range.lowerBound.columnValue, position)
    let high = resolver.literal(range.upperBound.columnValue, position)
    return adding(
      .and(.compare(column: position, .greaterOrEqual, low), .compare(column: position, .lessOrEqual, high)), resolver)
  }

  /// Only rows of which `isIncluded` says so, asked after all conditions.
  public func filter(_ isIncluded: @escaping (Row) throws -> Bool) -> Query {
    var query = self
    query.filters.append(isIncluded)
    return query
  }

  private func adding(_ condition: Condition, _ resolver: ColumnResolver) -> Query {
    var query = self
    query.condition = query.condition.and(condition)
    query.failure = query.failure ?? resolver.failure
    return query
  }

  /// The query without types.
  private func prepared() throws(ViewError) -> RowQuery {
    if let failure { throw failure }
    if filters.isEmpty { return RowQuery(condition: condition) }
    let plan = reader.plan
    let filters = filters
    return RowQuery(condition: condition) { cursor in
      let row: Row = try plan.row(cursor)
      for isIncluded in filters where try !isIncluded(row) { return false }
      return true
    }
  }

  // MARK: Finishing

  /// Calls `body` with each row until it returns false.
  public func forEach(_ body: (Row) throws -> Bool) throws {
    let query = try prepared()
    try reader.snapshot.withTransaction { transaction in
      try query.forEach(reader.table, in: transaction) { try body(try reader.plan.row($0)) }
    }
  }

  /// The rows, at most `limit` of them.
  public func rows(limit: Int = .max) throws -> [Row] {
    var rows: [Row] = []
    if limit <= 0 { return rows }
    try forEach { row in
      rows.append(row)
      return rows.count < limit
    }
    return rows
  }

  /// The first row, or nil.
  public func first() throws -> Row? { try rows(limit: 1).first }

  /// The number of rows.
  public func count() throws -> Int {
    let query = try prepared()
    return try reader.snapshot.withTransaction { try query.count(reader.table, in: $0) }
  }

  /// The `count` rows with the largest values of a column, the largest first; with the smallest ones if `ascending`.
  /// Nil is below every value, NaN above; equal values in the order of their primary keys.
  public func top<Value>(
    _ count: Int, by column: KeyPath<Row, Value>, ascending: Bool = false
  ) throws -> [Row] {
    let query = try prepared()
    let position = try position(of: column)
    return try reader.snapshot.withTransaction { transaction in
      let keys = try query.top(count, by: position, ascending: ascending, reader.table, in: transaction)
      return try keys.compactMap { key in unsafe try key.withUnsafeBytes { unsafe try reader.get(keyBytes: $0) } }
    }
  }

  /// What the query would do, in words: index, key or scan, and what it compares.
  public func explain() throws -> String {
    let query = try prepared()
    return try reader.snapshot.withTransaction { try query.explain(reader.table, in: $0) }
  }

  // MARK: Aggregates

  /// The sum of an integer column; nil counts as nothing.
  ///
  /// - Throws: `invalidQuery` if the sum is beyond `Int64`.
  public func sum<Value: FixedWidthInteger>(_ column: KeyPath<Row, Value>) throws -> Int64 { try integerSum(column) }
  public func sum<Value: FixedWidthInteger>(_ column: KeyPath<Row, Value?>) throws -> Int64 { try integerSum(column) }

  /// The sum of a floating-point column; nil counts as nothing.
  public func sum<Value: BinaryFloatingPoint>(_ column: KeyPath<Row, Value>) throws -> Double {
    try summary(column, sum: true).realSum
  }
  public func sum<Value: BinaryFloatingPoint>(_ column: KeyPath<Row, Value?>) throws -> Double {
    try summary(column, sum: true).realSum
  }

  /// The smallest value of a column, nil apart; nil if there is none.
  public func min<Value>(_ column: KeyPath<Row, Value>) throws -> ColumnValue {
    try summary(column, extremes: true).minimum
  }

  /// The largest value of a column; nil if there is none.
  public func max<Value>(_ column: KeyPath<Row, Value>) throws -> ColumnValue {
    try summary(column, extremes: true).maximum
  }

  private func integerSum(_ column: PartialKeyPath<Row>) throws -> Int64 {
    let sum = try summary(column, sum: true).integerSum
    guard let narrow = Int64(exactly: sum) else {
      throw ViewError(.invalidQuery, view: reader.table.schema.name, "the sum \(sum) is beyond Int64")
    }
    return narrow
  }

  private func summary(
    _ column: PartialKeyPath<Row>, sum: Bool = false, extremes: Bool = false
  ) throws -> ColumnSummary {
    let query = try prepared()
    let position = try position(of: column)
    return try reader.snapshot.withTransaction {
      try query.summary(of: position, sum: sum, extremes: extremes, reader.table, in: $0)
    }
  }

  private func position(of column: PartialKeyPath<Row>) throws -> Int {
    let resolver = ColumnResolver(plan: reader.plan)
    let position = resolver.position(of: column)
    if let failure = resolver.failure { throw failure }
    return position
  }
}
