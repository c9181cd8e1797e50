import Dataflow
import LMDB
public import Records
import Tables
public import Views

extension Store {
  /// The view called `name` whose rows are `Row`s: opened, created, or made to fit as `policy` allows.
  ///
  /// Blocks for a commit when something is created or changed. In a store opened for reading it must be there.
  ///
  /// - Parameters:
  ///   - key: the primary key.
  ///   - indexes: secondary indexes, as `.on(\.campaign)`; one that is not there yet is built.
  ///   - defaults: what columns that are added read as in older rows.
  ///   - policy: what may be changed in the store to fit the struct.
  /// - Throws: `ViewError` naming the column that does not fit; nothing was changed then.
  public func view<Row: Record, Key: ColumnConvertible>(
    _ name: String, of type: Row.Type = Row.self, key: KeyPath<Row, Key>, indexes: [ViewIndex<Row>] = [],
    defaults: [ColumnDefault<Row>] = [], policy: ViewDeclaration.Policy = .standard
  ) throws -> View<Row> {
    guard isWritable else {
      return try environment.read { try viewSpace.existing(name, of: type, in: $0) }
    }
    try requireWriter("open a view")
    // Key paths cannot cross to the writer's thread: what they say is worked out here.
    let declaration = try viewSpace.declaration(
      name, of: type, key: key, indexes: indexes, defaults: defaults, policy: policy)
    let plan = try environment.read { try viewSpace.plan(declaration, in: $0) }
    if !plan.isEmpty { try changeViews { views, transaction in _ = try views.open(declaration, in: transaction) } }
    return try environment.read { try viewSpace.existing(name, of: type, in: $0) }
  }

  /// Adds a column to a view: one catalogue write, whatever the number of rows, which read as its default. A column
  /// that exists with the same type is left as it is.
  public func addColumn(_ column: ViewDeclaration.Column, to view: String) throws {
    try changeViews { try $0.addColumn(column, to: view, in: $1) }
  }

  /// Drops a column, and the indexes that use it: one catalogue write. A later column of its name starts anew.
  public func dropColumn(_ name: String, from view: String) throws {
    try changeViews { try $0.dropColumn(name, from: view, in: $1) }
  }

  /// Renames a column: one catalogue write. Open views go on with the new name.
  public func renameColumn(_ name: String, to newName: String, in view: String) throws {
    try changeViews { try $0.renameColumn(name, to: newName, of: view, in: $1) }
  }

  /// Drops a view whole: one catalogue write; its pages are freed over the next checkpoints. Open snapshots keep it.
  public func dropView(_ name: String) throws { try changeViews { try $0.dropView(name, in: $1) } }

  /// Changes rows of a view outside of any job: collected by `body`, durable together when it returns.
  ///
  /// Not for columns that a job writes: a fold may hold the row as it was.
  ///
  /// - Throws: `DataflowError.duplicateOwner` while a job runs that writes one of the columns; what `body` throws.
  public func update<Row: Record>(_ view: View<Row>, _ body: (ViewChanges<Row>) throws -> Void) async throws {
    try requireWriter("change a view")
    for resource in view.ownedResources {
      if let job = checkpoints.owner(of: resource) {
        throw DataflowError(
          .duplicateOwner, resource, "job \(job) is running and writes it; send the change through the job's events")
      }
    }
    let changes = ViewChanges(view)
    try body(changes)
    let sealed = try changes.seal()
    if sealed.isEmpty { return }
    let (tables, views) = (tables, viewSpace)
    try await checkpoints.write { transaction in
      try sealed.write(in: transaction)
      try views.prepare(in: transaction)
      _ = try tables.maintain(in: transaction)
    }
  }

  /// Runs a change of the catalogue on the writer's thread; one that fails leaves nothing behind.
  private func changeViews(_ change: @escaping @Sendable (ViewSpace, borrowing WriteTransaction) throws -> Void) throws
  {
    try requireWriter("change a view")
    let views = viewSpace
    do {
      try checkpoints.write { try change(views, $0) }
    } catch {
      // What the failed transaction made of the layouts in memory is put right.
      try? checkpoints.write { try views.prepare(in: $0) }
      throw error
    }
  }
}
