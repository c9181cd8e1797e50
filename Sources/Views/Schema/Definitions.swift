package import Tables

/// A column as the catalogue holds it. Its id is given once and never again, also after the column is dropped.
public struct ColumnDefinition: Sendable, Hashable {
  /// The id, unique in the view for ever. 0 is the primary key.
  public let id: UInt32
  public package(set) var name: String
  public package(set) var type: ColumnType
  public package(set) var isOptional: Bool
  /// The family in whose groups the column lies.
  public package(set) var family: UInt16
  /// The schema version in which the column appeared.
  public package(set) var added: UInt32
  /// What rows written before the column existed read as. Never changed.
  public package(set) var initialDefault: ColumnValue
  /// What a row made by an upsert of other columns gets here: the last value whose version is not above the upsert's.
  public package(set) var writeDefaults: [WriteDefault]

  /// A write default and the schema version from which it holds.
  public struct WriteDefault: Sendable, Hashable {
    public let since: UInt32
    public let value: ColumnValue

    package init(since: UInt32, value: ColumnValue) {
      self.since = since
      self.value = value
    }
  }

  package init(
    id: UInt32, name: String, type: ColumnType, isOptional: Bool, family: UInt16 = 0, added: UInt32,
    initialDefault: ColumnValue, writeDefaults: [WriteDefault] = []
  ) {
    self.id = id
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.family = family
    self.added = added
    self.initialDefault = initialDefault
    self.writeDefaults = writeDefaults
  }

  /// The default of a row created by an upsert of schema version `version`.
  package func defaultValue(at version: UInt32) -> ColumnValue {
    guard version >= added else { return initialDefault }
    return writeDefaults.last { $0.since <= version }?.value ?? initialDefault
  }
}

/// A set of columns that lie together in the groups of one table.
public struct FamilyDefinition: Sendable, Hashable {
  public let id: UInt16
  package let table: TableID

  package init(id: UInt16, table: TableID) {
    self.id = id
    self.table = table
  }
}

/// A secondary index as the catalogue holds it.
public struct IndexDefinition: Sendable, Hashable {
  /// The id, unique in the view for ever.
  public let id: UInt32
  public let name: String
  /// The ids of the columns, the first being the most significant.
  public let columns: [UInt32]
  package let table: TableID

  package init(id: UInt32, name: String, columns: [UInt32], table: TableID) {
    self.id = id
    self.name = name
    self.columns = columns
    self.table = table
  }
}

/// A view as the catalogue holds it.
public struct ViewDefinition: Sendable, Hashable {
  /// The id, unique in the store for ever.
  public let id: UInt32
  public package(set) var name: String
  /// Rises with every change of the definition.
  public package(set) var version: UInt32
  /// The living columns, the primary key first, then by id.
  public package(set) var columns: [ColumnDefinition]
  public package(set) var families: [FamilyDefinition]
  public package(set) var indexes: [IndexDefinition]
  package var nextColumn: UInt32
  package var nextIndex: UInt32

  package init(
    id: UInt32, name: String, version: UInt32, columns: [ColumnDefinition], families: [FamilyDefinition],
    indexes: [IndexDefinition], nextColumn: UInt32, nextIndex: UInt32
  ) {
    self.id = id
    self.name = name
    self.version = version
    self.columns = columns
    self.families = families
    self.indexes = indexes
    self.nextColumn = nextColumn
    self.nextIndex = nextIndex
  }

  /// The primary key column.
  public var key: ColumnDefinition { columns[0] }

  /// The column called `name`.
  public func column(named name: String) -> ColumnDefinition? { columns.first { $0.name == name } }

  /// The living column with this id.
  public func column(id: UInt32) -> ColumnDefinition? { columns.first { $0.id == id } }
}
