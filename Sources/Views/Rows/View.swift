public import LMDB
public import Records

/// A view opened for rows of one type: what programs hold on to and pass to snapshots, jobs and writers.
///
/// Cheap to copy, usable from any thread, valid until the view or a column of the struct is dropped.
public struct View<Row: Record>: Sendable {
  public let name: String
  package let space: ViewSpace
  package let plan: RowPlan

  package init(space: ViewSpace, plan: RowPlan) {
    name = plan.schema.name
    self.space = space
    self.plan = plan
  }

  /// The definition at the time of opening.
  public var definition: ViewDefinition { plan.schema.definition }

  /// The ids of the columns that `Row` has beside the primary key.
  package var writtenColumns: [UInt32] { plan.steps.map(\.id) }
}

/// The columns of a secondary index, by key path.
///
/// Not `Sendable`, as key paths are not: made where a view is opened and not kept.
public struct ViewIndex<Row: Record> {
  let columns: [PartialKeyPath<Row>]

  /// An index on one column or several, the first being the most significant: `.on(\.campaign)`.
  public static func on(_ columns: PartialKeyPath<Row>...) -> ViewIndex { ViewIndex(columns: columns) }
}

/// A default for a column that is added, by key path.
public struct ColumnDefault<Row: Record> {
  let column: PartialKeyPath<Row>
  let value: ColumnValue

  public static func column<Value: ColumnConvertible>(
    _ column: KeyPath<Row, Value>, _ value: Value
  ) -> ColumnDefault { ColumnDefault(column: column, value: value.columnValue) }
}

extension ViewSpace {
  /// Opens the view called `name` for rows of `type`, creating it or making it fit as `policy` allows.
  ///
  /// - Throws: `schemaMismatch` or `unsupportedType` naming the column or property; `RecordsError` if the struct cannot
  ///   be described or a key path names no stored property. Nothing was changed then.
  public func open<Row: Record, Key: ColumnConvertible>(
    _ name: String, of type: Row.Type, key: KeyPath<Row, Key>, indexes: [ViewIndex<Row>] = [],
    defaults: [ColumnDefault<Row>] = [], policy: ViewDeclaration.Policy = .standard,
    in transaction: borrowing WriteTransaction
  ) throws -> View<Row> {
    let declared = try declaration(name, of: type, key: key, indexes: indexes, defaults: defaults, policy: policy)
    let layout = try RecordLayout.of(type)
    let definition = try open(declared, in: transaction)
    return View(space: self, plan: try RowPlan(layout: layout, schema: ViewSchema(definition)))
  }

  /// The view called `name` as it is stored, for reading by rows of `type`; other columns are ignored.
  ///
  /// - Throws: `unknownView`; `schemaMismatch` naming the property without a fitting column.
  public func existing<Row: Record>(
    _ name: String, of type: Row.Type, in transaction: borrowing ReadTransaction
  ) throws -> View<Row> {
    let schema = try schema(name, catalogue(in: transaction))
    return View(space: self, plan: try RowPlan(layout: RecordLayout.of(type), schema: schema))
  }

  /// What a row struct declares; for `plan` and `open`.
  public func declaration<Row: Record, Key: ColumnConvertible>(
    _ name: String, of type: Row.Type, key: KeyPath<Row, Key>, indexes: [ViewIndex<Row>] = [],
    defaults: [ColumnDefault<Row>] = [], policy: ViewDeclaration.Policy = .standard
  ) throws -> ViewDeclaration {
    let layout = try RecordLayout.of(type)
    var values: [String: ColumnValue] = [:]
    for value in defaults { values[layout.fields[try layout.index(of: value.column)].name] = value.value }
    var positions: [[Int]] = []
    for index in indexes {
      var columns: [Int] = []
      for column in index.columns { columns.append(try layout.index(of: column)) }
      positions.append(columns)
    }
    return try ViewDeclaration(
      name: name, layout: layout, key: try layout.index(of: key), indexes: positions, defaults: values, policy: policy)
  }
}
