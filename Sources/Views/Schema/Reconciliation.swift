/// Decides what has to happen so that a stored view fits a declaration. Decides only: nothing is written here.
enum Reconciliation {
  /// What is to be done, in order.
  enum Action: Sendable, Equatable {
    case create
    case addColumn(ViewDeclaration.Column)
    case addIndex([String])
  }

  /// The actions, none if everything agrees.
  ///
  /// - Throws: `schemaMismatch` naming the first column that does not fit.
  static func plan(_ declared: ViewDeclaration, stored: ViewDefinition?) throws(ViewError) -> [Action] {
    try checkDeclaration(declared)
    guard let stored else { return [.create] }
    var actions: [Action] = []
    guard stored.key.name == declared.key else {
      throw mismatch(declared, declared.key, "the stored primary key is '\(stored.key.name)'")
    }
    for column in declared.columns {
      if let found = stored.column(named: column.name) {
        try checkSame(declared, column, found)
        continue
      }
      guard declared.policy.contains(.addMissingColumns) else {
        throw mismatch(declared, column.name, "the store has no such column; add it, or open with .addMissingColumns")
      }
      guard column.isOptional || column.defaultValue != nil else {
        throw mismatch(
          declared, column.name, "a column that is not optional needs a default when it is added to existing rows")
      }
      actions.append(.addColumn(column))
    }
    if !declared.policy.contains(.ignoreOtherColumns) {
      for column in stored.columns where !declared.columns.contains(where: { $0.name == column.name }) {
        throw mismatch(
          declared, column.name, "the struct has no such property; drop the column, or open with .ignoreOtherColumns")
      }
    }
    for index in declared.indexes where !has(index, stored) {
      guard declared.policy.contains(.addMissingIndexes) else {
        throw mismatch(
          declared, index.joined(separator: "+"), "the store has no index on it; open with .addMissingIndexes")
      }
      actions.append(.addIndex(index))
    }
    return actions
  }

  private static func checkDeclaration(_ declared: ViewDeclaration) throws(ViewError) {
    guard !declared.name.isEmpty else { throw ViewError(.schemaMismatch, "a view needs a name") }
    var names = Set<String>()
    for column in declared.columns {
      guard names.insert(column.name).inserted else { throw mismatch(declared, column.name, "declared twice") }
      if let value = column.defaultValue {
        guard let converted = value.converted(to: column.type), !converted.isNull || column.isOptional else {
          throw mismatch(declared, column.name, "the default \(value) is no \(column.type)")
        }
      }
    }
    guard let key = declared.columns.first(where: { $0.name == declared.key }) else {
      throw mismatch(declared, declared.key, "the primary key is no column")
    }
    guard !key.isOptional, key.type != .opaque else {
      throw mismatch(declared, key.name, "the primary key must be a plain value that is not optional")
    }
    for index in declared.indexes {
      guard !index.isEmpty else { throw mismatch(declared, "", "an index needs a column") }
      for name in index where !names.contains(name) { throw mismatch(declared, name, "an index names no column") }
    }
  }

  private static func checkSame(
    _ declared: ViewDeclaration, _ column: ViewDeclaration.Column, _ found: ColumnDefinition
  ) throws(ViewError) {
    guard found.type == column.type, found.isOptional == column.isOptional else {
      let stored = "\(found.type)\(found.isOptional ? "?" : "")"
      let wanted = "\(column.type)\(column.isOptional ? "?" : "")"
      throw mismatch(
        declared, column.name, "stored as \(stored), declared as \(wanted); change the struct, or add a new column")
    }
  }

  private static func has(_ index: [String], _ stored: ViewDefinition) -> Bool {
    let ids = index.map { stored.column(named: $0)?.id }
    return stored.indexes.contains { $0.columns.map(Optional.some) == ids }
  }

  private static func mismatch(_ declared: ViewDeclaration, _ column: String, _ message: String) -> ViewError {
    ViewError(.schemaMismatch, view: declared.name, column: column, message)
  }
}
