public import LMDB
public import Records

/// All views as one commit has them, for reading. Used by one thread at a time.
///
/// Holds a read transaction: while it lives, the pages it sees cannot be reused. Keep it for the time of a request, not
/// longer.
public final class ViewSnapshot {
  public let space: ViewSpace
  private var transaction: ReadTransaction
  private var catalogue: Catalogue
  private var tables: [UInt32: TableView] = [:]

  /// A snapshot of what `transaction` sees.
  ///
  /// - Throws: `damaged`, `newerFormat`; LMDB's errors.
  public init(_ space: ViewSpace, _ transaction: consuming ReadTransaction) throws {
    self.space = space
    self.transaction = transaction
    catalogue = try space.catalogue(in: self.transaction)
  }

  /// The number of the commit that is seen.
  public var transactionID: Int { transaction.id }

  /// Moves to the newest commit. Readers made before must not be used any more.
  public func renew() throws {
    let before = transaction.id
    try transaction.renew()
    if transaction.id == before { return }
    tables.removeAll(keepingCapacity: true)
    catalogue = try space.catalogue(in: transaction)
  }

  /// The definitions of all views.
  public var definitions: [ViewDefinition] { catalogue.schemas.map(\.definition) }

  /// Calls `body` with the transaction underneath, for what else is to be read from the same commit.
  ///
  /// - Throws: `LMDBError.readerExpired` past the maximum age: rows in the newest runs are found without asking LMDB,
  ///   which would notice; what `body` throws.
  public func withTransaction<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try transaction.checkAge()
    return try body(transaction)
  }

  /// A reader of `view`.
  ///
  /// - Throws: `unknownView` if this commit does not have the view; `schemaMismatch` if it lacks one of its columns.
  public subscript<Row: Record>(view: View<Row>) -> ViewReader<Row> {
    get throws {
      let schema = view.plan.schema
      guard let current = catalogue.schema(id: schema.definition.id) else {
        throw ViewError(.unknownView, view: view.name, "this snapshot does not have the view")
      }
      let plan =
        current.definition.version == schema.definition.version
        ? view.plan : try RowPlan(renewing: view.plan, for: current)
      return ViewReader(snapshot: self, table: try table(current), plan: plan)
    }
  }

  func table(_ schema: ViewSchema) throws -> TableView {
    if let table = tables[schema.definition.id] { return table }
    let table = try TableView(space, schema, in: transaction)
    tables[schema.definition.id] = table
    return table
  }

  /// The schema of the view called `name`.
  func schema(named name: String) throws(ViewError) -> ViewSchema { try space.schema(name, catalogue) }
}

extension RowPlan {
  /// The plan of the same struct for another version of the view: columns are found by their ids, so a renamed column
  /// is still the property's.
  convenience init(renewing plan: RowPlan, for schema: ViewSchema) throws(ViewError) {
    var names: [Int: String] = [:]
    for step in plan.steps + [plan.key] {
      guard let position = schema.position(of: step.id) else {
        throw ViewError(
          .schemaMismatch, view: schema.name, column: plan.layout.fields[step.field].name,
          "the column was dropped; open the view again")
      }
      names[step.field] = schema.columns[position].definition.name
    }
    try self.init(layout: plan.layout, schema: schema, columnNames: names)
  }
}
