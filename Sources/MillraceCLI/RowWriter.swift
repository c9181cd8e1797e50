import Millrace

/// Writes rows in the format asked for. Tables are laid out in stretches of rows: what is written does not grow with
/// the view in memory, and columns may get wider on the way.
struct RowWriter {
  private static let stretch = 10_000

  private let console: Console
  private let format: OutputFormat
  private let names: [String]
  private var table: TableText
  private var waiting = 0
  private var hasHeader = false

  init(console: Console, format: OutputFormat, names: [String]) {
    self.console = console
    self.format = format
    self.names = names
    table = TableText(names)
  }

  func begin() throws {
    if format == .csv { try console.line(CSVText.header(names)) }
  }

  mutating func append(_ values: [ColumnValue]) throws {
    let values = values.map { OutputValue($0) }
    switch format {
    case .json: try console.line(JSONText.row(names, values))
    case .csv: try console.line(CSVText.line(values))
    case .table:
      table.append(values)
      waiting += 1
      if waiting == Self.stretch { try writeStretch() }
    }
  }

  /// Writes what waits. A table without rows is its header alone.
  mutating func end() throws {
    if format == .table, waiting > 0 || !hasHeader { try writeStretch() }
  }

  private mutating func writeStretch() throws {
    for line in table.lines(width: console.width).dropFirst(hasHeader ? 2 : 0) { try console.line(line) }
    hasHeader = true
    waiting = 0
    table = TableText(names)
  }
}
