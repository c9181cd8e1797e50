/// Rows as comma-separated values (RFC 4180, with a line feed alone at the end of lines, as Unix tools expect).
///
/// A null is an empty field, an empty text a pair of quotes, so that they can be told apart.
enum CSVText {
  static func line(_ values: [OutputValue]) -> String { values.map(field).joined(separator: ",") }

  static func header(_ names: [String]) -> String { line(names.map { .text($0) }) }

  private static func field(_ value: OutputValue) -> String {
    let text = value.plainText
    if value == .null { return "" }
    // By bytes: "\r\n" is one Character of Swift.
    let isSpecial = text.utf8.contains { $0 == 0x2C || $0 == 0x22 || $0 == 0x0A || $0 == 0x0D }
    if !isSpecial, !text.isEmpty, text.utf8.first != 0x20, text.utf8.last != 0x20 { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { quoted += "\"" }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }
}
