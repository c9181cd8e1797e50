/// A view's definition prepared for use: cells of the defaults, and positions by column id. Immutable.
package final class ViewSchema: Sendable {
  package let definition: ViewDefinition
  /// The columns in the definition's order: the primary key first, then by id.
  package let columns: [Column]
  /// Position in `columns` by id; −1 for ids of dropped columns.
  private let positions: [Int32]
  private let ids: [UInt32]
  private let storages: [ColumnType.Storage]

  package struct Column: Sendable {
    package let definition: ColumnDefinition
    package let id: UInt32
    package let type: ColumnType
    package let storage: ColumnType.Storage
    package let initialDefault: OwnedCell
    /// The write defaults with the schema version from which each holds, oldest first.
    fileprivate let writeDefaults: [(since: UInt32, value: OwnedCell)]

    /// What a row created by a change of schema version `version` holds if the change does not set the column.
    package func defaultCell(at version: UInt32) -> Cell {
      if version < definition.added { return initialDefault.cell }
      return writeDefaults.last { $0.since <= version }?.value.cell ?? initialDefault.cell
    }
  }

  package init(_ definition: ViewDefinition) {
    self.definition = definition
    columns = definition.columns.map { column in
      Column(
        definition: column, id: column.id, type: column.type, storage: column.type.storage,
        initialDefault: OwnedCell(column.initialDefault),
        writeDefaults: column.writeDefaults.map { ($0.since, OwnedCell($0.value)) })
    }
    var positions = [Int32](repeating: -1, count: Int(definition.nextColumn))
    for (position, column) in definition.columns.enumerated() where column.id < definition.nextColumn {
      positions[Int(column.id)] = Int32(position)
    }
    self.positions = positions
    ids = columns.map(\.id)
    storages = columns.map(\.storage)
  }

  /// The id of the column at `position`, without touching the column itself.
  func columnID(_ position: Int) -> UInt32 { ids[position] }
  func storage(_ position: Int) -> ColumnType.Storage { storages[position] }

  package var name: String { definition.name }

  /// The position of the living column `id`.
  package func position(of id: UInt32) -> Int? {
    guard id < UInt32(positions.count), positions[Int(id)] >= 0 else { return nil }
    return Int(positions[Int(id)])
  }

  package func position(named name: String) throws(ViewError) -> Int {
    if let position = definition.columns.firstIndex(where: { $0.name == name }) { return position }
    throw ViewError(
      .unknownColumn, view: definition.name, column: name,
      "no such column; there are \(definition.columns.map(\.name).joined(separator: ", "))")
  }
}
