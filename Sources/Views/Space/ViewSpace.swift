public import LMDB
internal import Synchronization
public import Tables

/// The views of one state file: their catalogue, and the tables that hold their rows and indexes.
///
/// Changing calls take the write transaction and become durable with it; they belong on the state file's writer thread.
/// Everything else may be used from any thread.
public final class ViewSpace: Sendable {
  /// The named databases that the environment must have, beside those of `TableSpace`.
  public static let databases = ["views"]

  public let environment: Environment
  public let tables: TableSpace
  let database: Database

  private struct Memory {
    /// The catalogue last read by a read transaction.
    var catalogue: Catalogue?
    /// Definitions whose formats are registered with the tables, by view id.
    var registered: [UInt32: ViewDefinition] = [:]
    /// Whether a transaction of this process changed the catalogue since formats were last compared with a commit.
    var isUncertain = true
    var version: UInt64 = 0
  }
  private let memory = Mutex(Memory())

  /// Prepares the views of `environment`; registers the layout of their tables.
  ///
  /// - Throws: `newerFormat`, `damaged`; `LMDBError.notFound` if the environment lacks one of `databases`.
  public init(environment: Environment, tables: TableSpace) throws {
    self.environment = environment
    self.tables = tables
    database = try environment.database("views")
    let catalogue = try environment.read { transaction in
      try CatalogueStore.load(database, in: transaction)
    }
    register(catalogue, isUncertain: false)
    memory.withLock { $0.catalogue = catalogue }
  }

  /// The catalogue as a snapshot sees it; read once per change of it.
  package func catalogue(in transaction: borrowing ReadTransaction) throws -> Catalogue {
    let version = try CatalogueStore.version(database, in: transaction)
    if let known = memory.withLock({ $0.catalogue }), known.version == version { return known }
    let catalogue = try CatalogueStore.load(database, in: transaction)
    memory.withLock { memory in
      if (memory.catalogue?.version ?? 0) <= version { memory.catalogue = catalogue }
    }
    return catalogue
  }

  /// The catalogue as the write transaction sees it: never remembered, since it may be undone.
  package func catalogue(in transaction: borrowing WriteTransaction) throws -> Catalogue {
    try CatalogueStore.load(database, in: transaction)
  }

  /// The definitions of all views, by id.
  public func definitions(in transaction: borrowing ReadTransaction) throws -> [ViewDefinition] {
    try catalogue(in: transaction).schemas.map(\.definition)
  }

  /// Makes sure that merging uses the layouts that `transaction` sees. Call it in every write transaction before
  /// `TableSpace.maintain`: an earlier transaction may have changed a view and been undone. Costs one look-up.
  public func prepare(in transaction: borrowing WriteTransaction) throws {
    let version = try CatalogueStore.version(database, in: transaction)
    if memory.withLock({ !$0.isUncertain && $0.version == version }) { return }
    register(try catalogue(in: transaction), isUncertain: false)
  }

  private func register(_ catalogue: Catalogue, isUncertain: Bool) {
    memory.withLock { memory in
      for schema in catalogue.schemas where memory.registered[schema.definition.id] != schema.definition {
        memory.registered[schema.definition.id] = schema.definition
        for family in schema.definition.families { tables.register(ColumnarFormat(schema), for: family.table) }
      }
      memory.version = catalogue.version
      memory.isUncertain = isUncertain
    }
  }

  // MARK: Changing the catalogue

  /// The schema of the view called `name` for a change in `transaction`.
  func schema(_ name: String, _ catalogue: Catalogue) throws(ViewError) -> ViewSchema {
    if let schema = catalogue.schema(named: name) { return schema }
    let known = catalogue.schemas.map(\.name).joined(separator: ", ")
    throw ViewError(.unknownView, view: name, "there is no such view; there are: \(known)")
  }

  /// Writes a changed definition and uses it from here on in this transaction.
  func put(_ definition: ViewDefinition, _ catalogue: Catalogue, in transaction: borrowing WriteTransaction) throws {
    try CatalogueStore.put(definition, id: definition.id, catalogue, database, in: transaction)
    register(try self.catalogue(in: transaction), isUncertain: true)
  }

  /// Removes a view's entry.
  func remove(_ definition: ViewDefinition, _ catalogue: Catalogue, in transaction: borrowing WriteTransaction) throws {
    try CatalogueStore.put(nil, id: definition.id, catalogue, database, in: transaction)
    memory.withLock { memory in
      memory.registered[definition.id] = nil
      memory.isUncertain = true
    }
  }
}
