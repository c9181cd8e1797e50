/// A value to be shown, of a row or of a description.
indirect enum OutputValue: Equatable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case decimal(Double)
  case text(String)
  /// Shown in base 16.
  case bytes([UInt8])
  case list([OutputValue])
  /// Names keep their order.
  case object([(name: String, value: OutputValue)])

  static func == (left: OutputValue, right: OutputValue) -> Bool { JSONText.of(left) == JSONText.of(right) }

  var isNumber: Bool {
    switch self {
    case .integer, .unsigned, .decimal: true
    default: false
    }
  }

  /// As a cell of a table or of a CSV file: nothing for null, composed values as JSON.
  var plainText: String {
    switch self {
    case .null: ""
    case .boolean(let value): value ? "true" : "false"
    case .integer(let value): String(value)
    case .unsigned(let value): String(value)
    case .decimal(let value): String(describing: value)
    case .text(let value): value
    case .bytes(let value): HexText.of(value)
    case .list, .object: JSONText.of(self)
    }
  }
}

/// Bytes in base 16.
enum HexText {
  static func of(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    return String(decoding: text, as: UTF8.self)
  }
}
