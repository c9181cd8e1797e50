internal import Bytes
public import LMDB
internal import Tables

/// Changes of one view, sealed: immutable, ready to be written in a transaction, again if that failed.
public final class SealedViewChanges: Sendable {
  let space: ViewSpace
  /// The view's id and the columns that the changes set, with their types.
  private let plan: RowPlan
  private let changes: SortedChanges
  private let run: Run

  init(space: ViewSpace, plan: RowPlan, changes: SortedChanges) throws {
    self.space = space
    self.plan = plan
    self.changes = changes
    var builder = RunBuilder(chunkBytes: space.tables.options.chunkBytes)
    for index in 0..<changes.count {
      let payload = unsafe changes.payload(index)
      unsafe builder.append(key: changes.key(index), value: payload.isEmpty ? nil : payload)
    }
    run = builder.finish()
  }

  /// The number of rows changed.
  public var count: Int { changes.count }
  public var isEmpty: Bool { changes.count == 0 }

  /// Writes the changes and what follows from them for the indexes. On the state file's writer thread.
  ///
  /// - Throws: `unknownView` or `schemaMismatch` if the view or one of the columns is gone or changed its type since
  ///   the changes were made; the errors of the layers below, after which the transaction must be given up.
  public func write(in transaction: borrowing WriteTransaction) throws {
    if isEmpty { return }
    try space.prepare(in: transaction)
    let catalogue = try space.catalogue(in: transaction)
    guard let schema = catalogue.schema(id: plan.schema.definition.id) else {
      throw ViewError(.unknownView, view: plan.schema.name, "the view was dropped; open it again")
    }
    try check(schema)
    var maintenance = IndexMaintenance(schema)
    if !maintenance.isEmpty {
      let table = try TableView(space, schema, in: transaction)
      let after = RowCursor(schema: schema)
      for index in 0..<changes.count {
        let key = unsafe changes.key(index)
        let before = unsafe try table.find(key, in: transaction)
        unsafe try maintenance.note(key: key, try changes.change(index), before: before, after: after)
      }
    }
    try space.tables.append(run, to: schema.definition.families[0].table, in: transaction)
    try maintenance.write(space.tables, in: transaction)
  }

  /// Every column that the changes set must still be there as it was.
  private func check(_ schema: ViewSchema) throws(ViewError) {
    if schema.definition.version == plan.schema.definition.version { return }
    for step in plan.steps {
      let was = plan.schema.columns[step.column].definition
      guard let position = schema.position(of: step.id) else {
        throw ViewError(
          .schemaMismatch, view: schema.name, column: was.name, "the column was dropped; open the view again")
      }
      let now = schema.columns[position].definition
      guard now.type == was.type, now.isOptional || !was.isOptional else {
        throw ViewError(
          .schemaMismatch, view: schema.name, column: now.name, "the column was changed; open the view again")
      }
    }
  }
}
