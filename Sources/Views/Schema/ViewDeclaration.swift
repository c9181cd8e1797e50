public import Records

/// What a program says a view should be: the columns of a row struct, the key, the indexes.
public struct ViewDeclaration: Sendable {
  /// A column wanted.
  public struct Column: Sendable, Hashable {
    public var name: String
    public var type: ColumnType
    public var isOptional: Bool
    /// The value of rows written before the column existed, and of rows made without it. Needed when a column that is
    /// not optional is added to an existing view.
    public var defaultValue: ColumnValue?

    public init(_ name: String, _ type: ColumnType, isOptional: Bool = false, defaultValue: ColumnValue? = nil) {
      self.name = name
      self.type = type
      self.isOptional = isOptional
      self.defaultValue = defaultValue
    }
  }

  /// What happens to columns that only the struct, or only the store, has.
  public struct Policy: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Columns that only the struct has are added to the view; a column that is not optional needs a default.
    public static let addMissingColumns = Policy(rawValue: 1)
    /// Columns that only the store has are left alone: they belong to another job, or to a newer program.
    public static let ignoreOtherColumns = Policy(rawValue: 2)
    /// Indexes that are not there yet are built from the rows. Indexes that only the store has always stay.
    public static let addMissingIndexes = Policy(rawValue: 4)
    /// Struct and store must agree exactly, indexes included.
    public static let exact: Policy = []
    /// The default: new indexes are built, everything else must agree.
    public static let standard: Policy = [.addMissingIndexes]
  }

  public var name: String
  /// The primary key's column is the one named so.
  public var key: String
  public var columns: [Column]
  /// The names of the columns of each index.
  public var indexes: [[String]]
  public var policy: Policy

  public init(
    name: String, key: String, columns: [Column], indexes: [[String]] = [], policy: Policy = .standard
  ) {
    self.name = name
    self.key = key
    self.columns = columns
    self.indexes = indexes
    self.policy = policy
  }

  /// The declaration that a row struct makes by its stored properties.
  ///
  /// - Throws: `unsupportedType` naming a property that no column can hold.
  public init(
    name: String, layout: RecordLayout, key: Int, indexes: [[Int]] = [], defaults: [String: ColumnValue] = [:],
    policy: Policy = .standard
  ) throws(ViewError) {
    var columns: [Column] = []
    for field in layout.fields {
      guard let type = ColumnType(field.type) else {
        throw ViewError(
          .unsupportedType, view: name, column: field.name,
          "\(layout.typeName).\(field.name) is a \(field.type), which no column holds; use a scalar, String or [UInt8]"
        )
      }
      columns.append(Column(field.name, type, isOptional: field.isOptional, defaultValue: defaults[field.name]))
    }
    self.init(
      name: name, key: columns[key].name, columns: columns, indexes: indexes.map { $0.map { columns[$0].name } },
      policy: policy)
  }
}

extension ColumnType {
  /// The column type of a field, or nil if columns cannot hold it.
  package init?(_ type: FieldType) {
    switch type {
    case .bool: self = .bool
    case .int8: self = .int8
    case .int16: self = .int16
    case .int32: self = .int32
    case .int64: self = .int64
    case .uint8: self = .uint8
    case .uint16: self = .uint16
    case .uint32: self = .uint32
    case .uint64: self = .uint64
    case .float: self = .float
    case .double: self = .double
    case .string: self = .string
    case .bytes: self = .bytes
    case .timestamp: self = .timestamp
    case .uuid: self = .uuid
    default: return nil
    }
  }
}
