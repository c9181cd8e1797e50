internal import Bytes
internal import Tables

/// What a view holds and what is wrong with it.
public struct ViewReport: Sendable {
  public let view: String
  public var rows = 0
  public var groups = 0
  public var runs = 0
  /// Bytes of groups, runs and index tables.
  public var bytes = 0
  /// Entries of each index, by the index's name.
  public var indexEntries: [String: Int] = [:]
  /// Everything found wrong, in words that name the place; empty if the view is intact.
  public var problems: [String] = []

  public var isIntact: Bool { problems.isEmpty }
}

extension ViewSnapshot {
  /// Reads all of the view called `name`: checks checksums, structure and order of groups and runs, and that every
  /// index holds what a scan of the rows says, naming the first difference.
  ///
  /// - Throws: `unknownView`; LMDB's errors.
  public func verify(_ name: String) throws -> ViewReport {
    let schema = try schema(named: name)
    let definition = schema.definition
    var report = ViewReport(view: name)
    try withTransaction { transaction in
      for table in definition.families.map(\.table) + definition.indexes.map(\.table) {
        let tableReport = try space.tables.verify(table, in: transaction)
        report.bytes += tableReport.runBytes + tableReport.blockBytes
        if table == definition.families[0].table {
          report.groups = tableReport.blocks
          report.runs = tableReport.runs
        }
        report.problems += tableReport.damages.map(\.description)
      }
    }
    if !report.isIntact { return report }
    let table = try table(schema)
    report.rows = try withTransaction { try RowQuery().count(table, in: $0) }
    for index in definition.indexes {
      let (entries, problem) = try compare(index, table)
      report.indexEntries[index.name] = entries
      if let problem { report.problems.append("index \(index.name): \(problem)") }
    }
    return report
  }

  /// The number of the index's entries, and the first that differs from what the rows say.
  private func compare(_ index: IndexDefinition, _ table: TableView) throws -> (Int, String?) {
    let schema = table.schema
    let columns = index.columns.compactMap { schema.position(of: $0) }
    var expected: [[UInt8]] = []
    var entry = ByteBuffer(capacity: 256)
    return try withTransaction { transaction in
      try RowQuery().forEach(table, in: transaction) { row in
        entry.removeAll()
        _ = unsafe try IndexEntry.append(columns, schema, key: row.key, to: &entry) { try row.cell($0) }
        expected.append(entry.array)
        return true
      }
      expected.sort { $0.lexicographicallyPrecedes($1) }
      var place = 0
      var problem: String?
      unsafe try table.indexReader(index).forEach(in: transaction) { key, value in
        let found = unsafe [UInt8](key)
        if place >= expected.count || expected[place] != found {
          let isMissing = place < expected.count && expected[place].lexicographicallyPrecedes(found)
          let wrong = isMissing ? expected[place] : found
          problem = "entry \(ColumnValue.bytes(wrong)) is \(isMissing ? "missing" : "there without its row")"
          return false
        }
        _ = unsafe try IndexEntry.primaryKey(key, value, index, schema)
        place += 1
        return true
      }
      if problem == nil, place < expected.count {
        problem = "entry \(ColumnValue.bytes(expected[place])) is missing"
      }
      return (place, problem)
    }
  }
}
