/// Rows as a table for people: aligned columns, numbers to the right, nothing that could drive the terminal.
struct TableText {
  private var names: [String]
  private var rows: [[OutputValue]] = []

  init(_ names: [String]) { self.names = names }

  /// Values beyond the columns are left out, missing ones are empty.
  mutating func append(_ row: [OutputValue]) { rows.append(row) }

  var isEmpty: Bool { rows.isEmpty }

  /// The lines, names first. Within `width` columns of a terminal the widest columns are cut, marked by "…"; no
  /// narrower than 8, so a table of many columns is wider still. Nil: nothing is cut.
  func lines(width: Int? = nil) -> [String] {
    let header = names.map(DisplayText.init)
    let cells = rows.map { row in
      names.indices.map { DisplayText($0 < row.count ? row[$0].plainText : "") }
    }
    let isNumeric = names.indices.map { column in
      let values = rows.compactMap { column < $0.count && $0[column] != .null ? $0[column] : nil }
      return !values.isEmpty && values.allSatisfy(\.isNumber)
    }
    var widths = names.indices.map { column in
      cells.reduce(header[column].width) { max($0, $1[column].width) }
    }
    if let width { Self.shrink(&widths, to: width) }
    func line(_ cells: [DisplayText]) -> String {
      let parts = cells.indices.map { cells[$0].padded(to: widths[$0], isRightAligned: isNumeric[$0]) }
      let text = parts.joined(separator: "  ")
      return String(text.prefix(text.count - text.reversed().prefix { $0 == " " }.count))
    }
    let rule = widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")
    return [line(header), rule] + cells.map(line)
  }

  /// Takes from the widest columns until all fit with two spaces between them.
  private static func shrink(_ widths: inout [Int], to width: Int) {
    var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - width
    while excess > 0, let widest = widths.max(), widest > 8, let column = widths.firstIndex(of: widest) {
      let next = max(8, widths.filter { $0 < widest }.max() ?? 8)
      let amount = min(excess, widest - next)
      widths[column] -= amount
      excess -= amount
    }
  }
}
