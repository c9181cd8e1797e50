public import LMDB
internal import Tables

/// Secondary indexes of a view.
extension ViewSpace {
  /// Adds an index on columns, the first being the most significant, and fills it from the rows, in this transaction.
  /// An index on the same columns that exists already is left as it is.
  ///
  /// Reads all rows: about a second and 60 MB of memory for a million.
  ///
  /// - Throws: `unknownView`, `unknownColumn`; `unsupportedType` if a column's values have no order.
  public func addIndex(
    on columns: [String], to view: String, in transaction: borrowing WriteTransaction
  ) throws {
    let catalogue = try catalogue(in: transaction)
    let schema = try schema(view, catalogue)
    var definition = schema.definition
    var ids: [UInt32] = []
    for name in columns {
      let column = schema.columns[try schema.position(named: name)]
      guard column.type != .opaque else {
        throw ViewError(.unsupportedType, view: view, column: name, "opaque values have no order to index them by")
      }
      ids.append(column.id)
    }
    guard !ids.isEmpty, ids.count <= IndexEntry.maxColumns else {
      throw ViewError(.invalidQuery, view: view, "an index has 1 to \(IndexEntry.maxColumns) columns")
    }
    if definition.indexes.contains(where: { $0.columns == ids }) { return }
    let table = try tables.create(in: transaction)
    let index = IndexDefinition(
      id: definition.nextIndex, name: columns.joined(separator: "+"), columns: ids, table: table)
    definition.nextIndex += 1
    definition.version += 1
    definition.indexes.append(index)
    try put(definition, catalogue, in: transaction)
    try fill(index, ViewSchema(definition), in: transaction)
  }

  private func fill(
    _ index: IndexDefinition, _ schema: ViewSchema, in transaction: borrowing WriteTransaction
  ) throws {
    let rows = try TableView(self, schema, in: transaction)
    var maintenance = IndexMaintenance(schema, only: index)
    try RowQuery().forEach(rows, in: transaction) { row in
      try maintenance.insert(row)
      return true
    }
    try maintenance.write(tables, in: transaction)
  }

  /// Drops the index on these columns. Its pages are freed by `TableSpace.maintain`.
  ///
  /// - Throws: `unknownView`, `unknownColumn`, `unknownIndex`.
  public func dropIndex(
    on columns: [String], of view: String, in transaction: borrowing WriteTransaction
  ) throws {
    let catalogue = try catalogue(in: transaction)
    let schema = try schema(view, catalogue)
    var definition = schema.definition
    var ids: [UInt32] = []
    for name in columns { ids.append(schema.columns[try schema.position(named: name)].id) }
    guard let position = definition.indexes.firstIndex(where: { $0.columns == ids }) else {
      throw ViewError(
        .unknownIndex, view: view, column: columns.joined(separator: "+"), "there is no index on these columns")
    }
    try tables.drop(definition.indexes.remove(at: position).table, in: transaction)
    definition.version += 1
    try put(definition, catalogue, in: transaction)
  }
}
