internal import Bytes
public import LMDB
internal import Tables

extension ViewSpace {
  /// Creates the view that `declared` describes, or makes the stored one fit as its policy allows.
  ///
  /// - Throws: `schemaMismatch` naming the first column that does not fit: then nothing was changed.
  @discardableResult
  public func open(
    _ declared: ViewDeclaration, in transaction: borrowing WriteTransaction
  ) throws -> ViewDefinition {
    let catalogue = try catalogue(in: transaction)
    let stored = catalogue.schema(named: declared.name)?.definition
    for action in try Reconciliation.plan(declared, stored: stored) {
      switch action {
      case .create: try create(declared, in: transaction)
      case .addColumn(let column): try addColumn(column, to: declared.name, in: transaction)
      case .addIndex(let columns): try addIndex(on: columns, to: declared.name, in: transaction)
      }
    }
    return try schema(declared.name, self.catalogue(in: transaction)).definition
  }

  /// What `open` would do, in words; empty if struct and store agree.
  ///
  /// - Throws: what `open` would refuse.
  public func plan(_ declared: ViewDeclaration, in transaction: borrowing ReadTransaction) throws -> [String] {
    let stored = try catalogue(in: transaction).schema(named: declared.name)?.definition
    return try Reconciliation.plan(declared, stored: stored).map { action in
      switch action {
      case .create: "create view '\(declared.name)' with \(declared.columns.count) columns"
      case .addColumn(let column): "add column '\(column.name)' \(column.type)\(column.isOptional ? "?" : "")"
      case .addIndex(let columns): "index \(columns.joined(separator: ", "))"
      }
    }
  }

  private func create(_ declared: ViewDeclaration, in transaction: borrowing WriteTransaction) throws {
    let catalogue = try catalogue(in: transaction)
    let table = try tables.create(format: ColumnarFormat.identifier, in: transaction)
    // The primary key has id 0; the other columns follow as they stand in the struct.
    let keyColumn = declared.columns.filter { $0.name == declared.key }
    let ordered = keyColumn + declared.columns.filter { $0.name != declared.key }
    guard UInt32(ordered.count) < RowChange.maxColumnID else { throw Self.tooManyColumns(declared.name) }
    let columns = ordered.enumerated().map { index, column in
      let value = Self.defaultValue(column)
      return ColumnDefinition(
        id: UInt32(index), name: column.name, type: column.type, isOptional: column.isOptional, added: 1,
        initialDefault: value, writeDefaults: [.init(since: 1, value: value)])
    }
    let definition = ViewDefinition(
      id: catalogue.nextView, name: declared.name, version: 1, columns: columns,
      families: [FamilyDefinition(id: 0, table: table)], indexes: [], nextColumn: UInt32(columns.count), nextIndex: 1)
    try put(definition, catalogue, in: transaction)
    for index in declared.indexes { try addIndex(on: index, to: declared.name, in: transaction) }
  }

  /// The declared default; without one nil, or the zero of a column that is not optional.
  static func defaultValue(_ column: ViewDeclaration.Column) -> ColumnValue {
    if let value = column.defaultValue?.converted(to: column.type) { return value }
    if column.isOptional { return .null }
    switch column.type {
    case .bool: return .bool(false)
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32: return .integer(0)
    case .uint64: return .unsigned(0)
    case .float, .double: return .real(0)
    case .string: return .string("")
    case .bytes, .opaque: return .bytes([])
    case .timestamp: return .timestamp(.init(microseconds: 0))
    case .uuid: return .bytes([UInt8](repeating: 0, count: 16))
    }
  }

  static func tooManyColumns(_ view: String) -> ViewError {
    ViewError(
      .tooManyColumns, view: view,
      "a view has at most \(RowChange.maxColumnID) columns in its life, dropped ones included; replay into a new view")
  }
}
