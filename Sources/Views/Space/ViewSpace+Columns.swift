public import LMDB
internal import Tables

/// Changes of a view's columns. Each is one catalogue write: no row is touched, whatever the number of rows.
extension ViewSpace {
  /// Adds a column; rows that exist read as its default. A column of this name and type that exists already is left as
  /// it is.
  ///
  /// - Throws: `unknownView`; `columnExists` if it has another type; `schemaMismatch` if it needs a default.
  public func addColumn(
    _ column: ViewDeclaration.Column, to view: String, in transaction: borrowing WriteTransaction
  ) throws {
    let catalogue = try catalogue(in: transaction)
    var definition = try schema(view, catalogue).definition
    if let found = definition.column(named: column.name) {
      if found.type == column.type, found.isOptional == column.isOptional { return }
      throw ViewError(
        .columnExists, view: view, column: column.name,
        "it exists as \(found.type)\(found.isOptional ? "?" : ""); drop or rename it first")
    }
    guard column.isOptional || column.defaultValue != nil else {
      throw ViewError(
        .schemaMismatch, view: view, column: column.name, "a column that is not optional needs a default")
    }
    if let value = column.defaultValue {
      guard let converted = value.converted(to: column.type), !converted.isNull || column.isOptional else {
        throw ViewError(.schemaMismatch, view: view, column: column.name, "the default \(value) is no \(column.type)")
      }
    }
    guard definition.nextColumn < RowChange.maxColumnID else { throw Self.tooManyColumns(view) }
    let value = Self.defaultValue(column)
    definition.version += 1
    definition.columns.append(
      ColumnDefinition(
        id: definition.nextColumn, name: column.name, type: column.type, isOptional: column.isOptional,
        added: definition.version, initialDefault: value,
        writeDefaults: [.init(since: definition.version, value: value)]))
    definition.nextColumn += 1
    try put(definition, catalogue, in: transaction)
  }

  /// Drops a column and the indexes that use it. Its id is never given again, so a later column of the same name starts
  /// from its own default.
  ///
  /// - Throws: `unknownView`, `unknownColumn`; `keyColumn` for the primary key.
  public func dropColumn(_ name: String, from view: String, in transaction: borrowing WriteTransaction) throws {
    let catalogue = try catalogue(in: transaction)
    let schema = try schema(view, catalogue)
    var definition = schema.definition
    let position = try schema.position(named: name)
    guard position > 0 else { throw Self.keyColumn(view, name) }
    let id = definition.columns.remove(at: position).id
    for index in definition.indexes where index.columns.contains(id) { try tables.drop(index.table, in: transaction) }
    definition.indexes.removeAll { $0.columns.contains(id) }
    definition.version += 1
    try put(definition, catalogue, in: transaction)
  }

  /// Renames a column; data and indexes keep it by its id.
  ///
  /// - Throws: `unknownView`, `unknownColumn`; `columnExists` if the new name is taken.
  public func renameColumn(
    _ name: String, to newName: String, of view: String, in transaction: borrowing WriteTransaction
  ) throws {
    let catalogue = try catalogue(in: transaction)
    let schema = try schema(view, catalogue)
    var definition = schema.definition
    let position = try schema.position(named: name)
    if name == newName { return }
    guard definition.column(named: newName) == nil, !newName.isEmpty else {
      throw ViewError(.columnExists, view: view, column: newName, "the new name is taken or empty")
    }
    definition.columns[position].name = newName
    definition.version += 1
    try put(definition, catalogue, in: transaction)
  }

  /// Sets what rows get that are made from here on without a value for the column. Rows that exist do not change.
  ///
  /// - Throws: `unknownView`, `unknownColumn`, `keyColumn`; `schemaMismatch` if the value does not fit.
  public func setDefault(
    _ value: ColumnValue, of name: String, in view: String, in transaction: borrowing WriteTransaction
  ) throws {
    let catalogue = try catalogue(in: transaction)
    let schema = try schema(view, catalogue)
    var definition = schema.definition
    let position = try schema.position(named: name)
    guard position > 0 else { throw Self.keyColumn(view, name) }
    let column = definition.columns[position]
    guard let converted = value.converted(to: column.type), !converted.isNull || column.isOptional else {
      throw ViewError(.schemaMismatch, view: view, column: name, "\(value) is no \(column.type)")
    }
    definition.version += 1
    definition.columns[position].writeDefaults.append(.init(since: definition.version, value: converted))
    try put(definition, catalogue, in: transaction)
  }

  /// Makes a column accept nil.
  ///
  /// - Throws: `unknownView`, `unknownColumn`, `keyColumn`.
  public func setOptional(_ name: String, in view: String, in transaction: borrowing WriteTransaction) throws {
    let catalogue = try catalogue(in: transaction)
    let schema = try schema(view, catalogue)
    var definition = schema.definition
    let position = try schema.position(named: name)
    guard position > 0 else { throw Self.keyColumn(view, name) }
    definition.columns[position].isOptional = true
    definition.version += 1
    try put(definition, catalogue, in: transaction)
  }

  /// Makes a column refuse nil. The one change that reads the rows: no null may be stored.
  ///
  /// - Throws: `nullsExist` with their number; `unknownView`, `unknownColumn`; `schemaMismatch` if its default is nil.
  public func setNonNull(_ name: String, in view: String, in transaction: borrowing WriteTransaction) throws {
    let catalogue = try catalogue(in: transaction)
    let schema = try schema(view, catalogue)
    var definition = schema.definition
    let position = try schema.position(named: name)
    if !definition.columns[position].isOptional { return }
    let table = try TableView(self, schema, in: transaction)
    let condition = Condition.compare(
      column: position, .equal, Condition.Literal(.null, definition.columns[position].type))
    let nulls = try RowQuery(condition: condition).count(table, in: transaction)
    guard nulls == 0 else {
      throw ViewError(
        .nullsExist, view: view, column: name, "\(nulls) rows hold nil; give them a value before forbidding it")
    }
    guard definition.columns[position].defaultValue(at: .max) != .null else {
      throw ViewError(.schemaMismatch, view: view, column: name, "its default is nil; set another default first")
    }
    definition.columns[position].isOptional = false
    definition.version += 1
    try put(definition, catalogue, in: transaction)
  }

  static func keyColumn(_ view: String, _ name: String) -> ViewError {
    ViewError(.keyColumn, view: view, column: name, "the primary key is part of every row; replay into a new view")
  }
}

/// Changes of whole views.
extension ViewSpace {
  /// Drops a view: snapshots that are open keep it whole, new ones do not have it. Its pages are freed by
  /// `TableSpace.maintain`, a slice at a time.
  ///
  /// - Throws: `unknownView`.
  public func dropView(_ name: String, in transaction: borrowing WriteTransaction) throws {
    let catalogue = try catalogue(in: transaction)
    let definition = try schema(name, catalogue).definition
    for family in definition.families { try tables.drop(family.table, in: transaction) }
    for index in definition.indexes { try tables.drop(index.table, in: transaction) }
    try remove(definition, catalogue, in: transaction)
  }

  /// Renames a view.
  ///
  /// - Throws: `unknownView`; `viewExists` if the new name is taken.
  public func renameView(_ name: String, to newName: String, in transaction: borrowing WriteTransaction) throws {
    let catalogue = try catalogue(in: transaction)
    var definition = try schema(name, catalogue).definition
    if name == newName { return }
    guard catalogue.schema(named: newName) == nil, !newName.isEmpty else {
      throw ViewError(.viewExists, view: newName, "the new name is taken or empty")
    }
    definition.name = newName
    definition.version += 1
    try put(definition, catalogue, in: transaction)
  }
}
