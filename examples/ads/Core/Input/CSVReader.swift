/// Reads the lines of a CSV file with a header, by the names of the columns that the caller wants.
///
/// The columns may stand in any order and others may stand between them. A line with another number of fields than the
/// header, and a field that does not hold what it is asked for, are errors with their file, line and column.
package struct CSVReader {
  package let file: String
  private let columns: [String]
  private var scanner: CSVScanner
  /// Where the wanted columns stand in a line.
  private var positions: [Int] = []
  private var width = 0

  /// Opens the file at `path`.
  package init(path: String, columns: [String]) throws(AdsError) {
    let chunks = try FileChunks(path: path)
    try self.init(file: path, columns: columns) { () throws(AdsError) in try chunks.next() }
  }

  /// Reads what `chunks` returns until it returns nil; `file` is only for messages.
  package init(
    file: String, columns: [String], chunks: @escaping () throws(AdsError) -> [UInt8]?
  ) throws(AdsError) {
    self.file = file
    self.columns = columns
    scanner = CSVScanner(chunks: chunks)
    try readHeader()
  }

  /// Moves to the next line; false at the end of the file.
  package mutating func next() throws(AdsError) -> Bool {
    guard try scanner.next(in: file) else { return false }
    guard scanner.fieldCount == width else {
      throw AdsError(
        .badInput, "the line has \(scanner.fieldCount) fields where the header has \(width)",
        at: .init(file: file, line: scanner.line),
        remedy: scanner.fieldCount < width
          ? "Add the missing fields, empty if need be" : "Put text with commas in quotes")
    }
    return true
  }

  /// The line that was read last, counted from 1; the header is line 1.
  package var line: Int { scanner.line }

  /// The place of a wanted column in the current line.
  package func place(_ column: Int) -> AdsError.Place {
    .init(file: file, line: scanner.line, column: positions[column] + 1, field: columns[column])
  }

  /// The field as text.
  package func text(_ column: Int) throws(AdsError) -> String {
    guard let text = String(validating: scanner.field(positions[column]), as: UTF8.self) else {
      throw AdsError(.badInput, "the field is not UTF-8", at: place(column), remedy: "Save the file as UTF-8")
    }
    return text
  }

  /// The field as a whole number.
  package func integer(_ column: Int) throws(AdsError) -> Int64 {
    let text = try text(column)
    guard let number = Int64(text) else { throw unfit("a whole number", text, column) }
    return number
  }

  /// The field as an amount of money in cents.
  package func cents(_ column: Int) throws(AdsError) -> Int64 {
    let text = try text(column)
    guard let cents = Money.cents(text) else { throw unfit("an amount in whole cents", text, column) }
    return cents
  }

  /// The field as a day, as in 2017-05-31.
  package func day(_ column: Int) throws(AdsError) -> Day {
    let text = try text(column)
    guard let day = Day(text) else { throw unfit("a date like 2017-05-31", text, column) }
    return day
  }

  private func unfit(_ wanted: String, _ text: String, _ column: Int) -> AdsError {
    let shown = text.count > 40 ? text.prefix(40) + "…" : text[...]
    return AdsError(
      .badInput, "\"\(shown)\" is not \(wanted)", at: place(column), remedy: "Correct the field or remove the line")
  }

  private mutating func readHeader() throws(AdsError) {
    guard try scanner.next(in: file) else {
      throw AdsError(
        .badInput, "the file is empty", at: .init(file: file),
        remedy: "It must begin with a line of column names: \(columns.joined(separator: ","))")
    }
    let names = (0..<scanner.fieldCount).map { index in
      let bytes = scanner.field(index)
      return index == 0 && bytes.starts(with: byteOrderMark) ? Array(bytes.dropFirst(3)) : Array(bytes)
    }
    width = names.count
    for column in columns {
      guard let position = names.firstIndex(of: Array(column.utf8)) else {
        throw AdsError(
          .badInput, "the header has no column \"\(column)\"", at: .init(file: file, line: 1),
          remedy: "It has: \(names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", "))")
      }
      positions.append(position)
    }
  }
}

/// Some programs begin a UTF-8 file with it.
private let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
