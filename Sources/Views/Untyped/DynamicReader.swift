internal import Bytes
internal import Tables

/// Reads a view by names, without a row type. Used by the snapshot's thread, and not longer than the snapshot.
public struct DynamicReader {
  private let snapshot: ViewSnapshot
  private let table: TableView

  init(_ snapshot: ViewSnapshot, _ table: TableView) {
    self.snapshot = snapshot
    self.table = table
  }

  /// The view's definition in this snapshot.
  public var definition: ViewDefinition { table.schema.definition }

  /// The number of rows. Reads the keys of all groups that runs touch, else only how many rows each has.
  public func rowCount() throws -> Int { try snapshot.withTransaction { try RowQuery().count(table, in: $0) } }

  /// Bytes of the view's groups, runs and index tables.
  public func byteCount() throws -> Int {
    var bytes = table.reader.byteCount
    for index in table.schema.definition.indexes { bytes += try table.indexReader(index).byteCount }
    return bytes
  }

  /// The row of a primary key, or nil.
  public func get(_ key: ColumnValue) throws -> DynamicRow? {
    var query = DynamicQuery()
    query.conditions = [.init(table.schema.definition.key.name, .equal, key)]
    return try rows(query).first
  }

  /// The rows of `query`.
  public func rows(_ query: DynamicQuery) throws -> [DynamicRow] {
    var rows: [DynamicRow] = []
    try forEach(query) { row in
      rows.append(row)
      return true
    }
    return rows
  }

  /// Calls `body` with each row of `query` until it returns false.
  ///
  /// - Throws: `unknownColumn`, `invalidQuery`; `damaged`; what `body` throws.
  public func forEach(_ query: DynamicQuery, _ body: (DynamicRow) throws -> Bool) throws {
    let schema = table.schema
    let names = query.columns ?? schema.definition.columns.map(\.name)
    var positions: [Int] = []
    for name in names { positions.append(try schema.position(named: name)) }
    func row(_ cursor: RowCursor) throws(ViewError) -> DynamicRow {
      var values: [ColumnValue] = []
      for position in positions { values.append(ColumnValue(try cursor.cell(position), schema.columns[position].type)) }
      return DynamicRow(columns: names, values: values)
    }
    let plain = RowQuery(condition: try condition(query))
    let limit = query.limit ?? .max
    if limit <= 0 { return }
    try snapshot.withTransaction { transaction in
      guard let order = query.order else {
        var count = 0
        try plain.forEach(table, in: transaction) { cursor in
          count += 1
          let goesOn = try body(try row(cursor))
          return goesOn && count < limit
        }
        return
      }
      let position = try schema.position(named: order)
      for key in try plain.top(limit, by: position, ascending: !query.descending, table, in: transaction) {
        let goesOn = unsafe try key.withUnsafeBytes { key in
          guard let cursor = unsafe try table.find(key, in: transaction) else { return true }
          return try body(try row(cursor))
        }
        if !goesOn { return }
      }
    }
  }

  /// What `query` would do, in words.
  public func explain(_ query: DynamicQuery) throws -> String {
    let plain = RowQuery(condition: try condition(query))
    return try snapshot.withTransaction { try plain.explain(table, in: $0) }
  }

  private func condition(_ query: DynamicQuery) throws(ViewError) -> Condition {
    var result = Condition.always(true)
    for condition in query.conditions { result = result.and(try resolved(condition)) }
    return result
  }

  private func resolved(_ condition: DynamicQuery.Condition) throws(ViewError) -> Condition {
    let schema = table.schema
    let position = try schema.position(named: condition.column)
    let type = schema.columns[position].type
    guard let value = condition.value.converted(to: type) else {
      throw ViewError(
        .invalidQuery, view: schema.name, column: condition.column, "\(condition.value) is no \(type)")
    }
    let literal = Condition.Literal(value, type)
    switch condition.comparison {
    case .equal: return .compare(column: position, .equal, literal)
    case .notEqual: return .compare(column: position, .notEqual, literal)
    case .less: return .compare(column: position, .less, literal)
    case .lessOrEqual: return .compare(column: position, .lessOrEqual, literal)
    case .greater: return .compare(column: position, .greater, literal)
    case .greaterOrEqual: return .compare(column: position, .greaterOrEqual, literal)
    case .hasPrefix, .contains:
      guard type == .string else {
        throw ViewError(.invalidQuery, view: schema.name, column: condition.column, "only text can be searched")
      }
      return condition.comparison == .hasPrefix
        ? .hasPrefix(column: position, literal) : .contains(column: position, literal)
    }
  }
}

extension ViewSnapshot {
  /// A reader by names of the view called `name`.
  ///
  /// - Throws: `unknownView`.
  public func view(named name: String) throws -> DynamicReader {
    DynamicReader(self, try table(try schema(named: name)))
  }
}
