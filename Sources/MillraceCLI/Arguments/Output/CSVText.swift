/// Rows as comma-separated values (RFC 4180, with a line feed alone at the end of lines, as Unix tools expect).
///
/// A null is an empty field, an empty text a pair of quotes, so that they can be told apart.
enum CSVText {
  static func line(_ values: [OutputValue]) -> String { values.map(field).joined(separator: ",") }

  static func header(_ names: [String]) -> String { line(names.map { .text($0) }) }

  private static func field(_ value: OutputValue) -> String {
    let text = value.plainText
    if value == .null { return "" }
    // By scalars: "\r\n" is one Character of Swift.
    let isSpecial = text.unicodeScalars.contains { $0 == "," || $0 == "\"" || $0 == "\n" || $0 == "\r" }
    if !isSpecial, !text.isEmpty, text.first != " ", text.last != " " { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { quoted += "\"" }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }
}
