/// A table in plain text: columns as wide as their widest cell, numbers to the right.
package struct TextTable {
  package enum Side: Sendable { case left, right }

  private var rows: [[String]]
  private let sides: [Side]

  package init(_ columns: [(title: String, side: Side)]) {
    rows = [columns.map(\.title)]
    sides = columns.map(\.side)
  }

  /// Adds a row; cells that are missing are empty, cells beyond the last column are left out.
  package mutating func add(_ cells: [String]) {
    rows.append(sides.indices.map { $0 < cells.count ? cells[$0] : "" })
  }

  package func text(indent: String = "  ") -> String {
    let widths = sides.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = indent
      for (column, cell) in row.enumerated() {
        let gap = String(repeating: " ", count: widths[column] - cell.count)
        line += sides[column] == .left ? cell + gap : gap + cell
        line += "  "
      }
      while line.last == " " { line.removeLast() }
      return line
    }.joined(separator: "\n")
  }
}
