/// Values as JSON (RFC 8259). What JSON has no number for (NaN and the infinities) becomes null; bytes become a text in
/// base 16.
enum JSONText {
  /// On one line.
  static func of(_ value: OutputValue) -> String {
    var text = ""
    append(value, to: &text)
    return text
  }

  /// A row as an object on one line, for output with one row per line.
  static func row(_ names: [String], _ values: [OutputValue]) -> String {
    of(.object(zip(names, values).map { (name: $0, value: $1) }))
  }

  private static func append(_ value: OutputValue, to text: inout String) {
    switch value {
    case .null: text += "null"
    case .boolean, .integer, .unsigned: text += value.plainText
    case .decimal(let number): text += number.isFinite ? value.plainText : "null"
    case .text(let string): append(string: string, to: &text)
    case .bytes: append(string: value.plainText, to: &text)
    case .list(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        append(value, to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { text += "," }
        append(string: member.name, to: &text)
        text += ":"
        append(member.value, to: &text)
      }
      text += "}"
    }
  }

  private static func append(string: String, to text: inout String) {
    text += "\""
    // Most texts need no escape.
    if string.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
      text += string
      text += "\""
      return
    }
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..<" ", "\u{7f}", "\u{2028}", "\u{2029}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
