import Millrace

/// Lays out the lines of an export.
struct ExportWriter {
  private static let columns = ["partition", "offset", "timestamp", "key"]

  let options: ExportOptions
  /// The fields of a typed topic's values, each a column of CSV; nil for one column `value`.
  let fields: [String]?

  init(options: ExportOptions, fields: [String]?) {
    self.options = options
    self.fields = fields
  }

  /// The names of the columns of CSV. A field that is called like one of the others is told apart by `value.`.
  var header: String? {
    guard options.format == .csv else { return nil }
    let names = (fields ?? ["value"]).map { name in
      fields != nil && (Self.columns + ["headers"]).contains(name) ? "value." + name : name
    }
    return CSVText.header(Self.columns + names + ["headers"])
  }

  func line(_ record: LogRecord, _ partition: Int, _ value: UntypedValue) -> String {
    let place: [OutputValue] = [
      .integer(Int64(partition)), .integer(record.offset), .text(TimeText.of(record.timestamp)),
      unsafe record.hasKey ? bytes([UInt8](record.key)) : .null,
    ]
    let headers = record.headers.map { (name: $0.name, value: bytes($0.value)) }
    switch options.format {
    case .csv: return CSVText.line(place + cells(value) + [headers.isEmpty ? .null : .object(headers)])
    case .jsonLines:
      var members = zip(Self.columns, place).map { (name: $0, value: $1) }
      members.append((name: "value", value: shown(value)))
      if !headers.isEmpty { members.append((name: "headers", value: .object(headers))) }
      return JSONText.of(.object(members))
    }
  }

  private func shown(_ value: UntypedValue) -> OutputValue {
    if case .raw(let raw) = value { return bytes(raw) }
    return OutputValue(value)
  }

  /// A value's cells: one per field by its name; what has no fields stands in the first cell.
  private func cells(_ value: UntypedValue) -> [OutputValue] {
    guard let fields else { return [shown(value)] }
    guard case .record(let schema, let values) = value else {
      return [shown(value)] + Array(repeating: .null, count: max(0, fields.count - 1))
    }
    return fields.map { name in
      zip(schema.fields, values).first { $0.0.name == name }.map { OutputValue($0.1) } ?? .null
    }
  }

  private func bytes(_ bytes: [UInt8]) -> OutputValue {
    switch options.bytes {
    case .auto: OutputValue(textOrBytes: bytes)
    case .utf8: .text(String(decoding: bytes, as: UTF8.self))
    case .hex: .text(HexText.of(bytes))
    case .base64: .text(Base64Text.of(bytes))
    }
  }
}
