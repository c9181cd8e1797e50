import Millrace

/// A literal of a filter as a value of a column's type.
struct ColumnLiteral {
  var value: ColumnValue
  /// Whether the view itself can compare with it: it is exactly of the column's type.
  var isExact: Bool

  /// - Throws: `UsageError` if a column of this type has no such values.
  init(_ literal: FilterExpression.Literal, _ column: ColumnDefinition) throws(UsageError) {
    let type = column.type
    func wrong(_ wanted: String) -> UsageError {
      UsageError(
        message: "column '\(column.name)' is \(type): \(Self.text(literal)) is \(Self.kind(literal)), \(wanted)",
        command: "query")
    }
    switch (literal, type) {
    case (.null, _): self.init(.null, isExact: true)
    case (_, .opaque): throw UsageError(message: "column '\(column.name)' cannot be compared", command: "query")
    case (.boolean(let value), .bool): self.init(.bool(value), isExact: true)
    case (_, .bool): throw wrong("write true or false")
    case (.text(let text), .string): self.init(.string(text), isExact: true)
    case (_, .string): throw wrong("write a text in quotes")
    case (.integer(let value), .timestamp):
      self.init(.timestamp(Timestamp(microseconds: value)), isExact: true)
    case (.text(let text), .timestamp):
      guard let time = TimeText.parse(text) else {
        throw wrong("write a time as \"2026-12-01\" or \"2026-12-01T08:30:00\", in UTC")
      }
      self.init(.timestamp(time), isExact: true)
    case (_, .timestamp): throw wrong("write a time as \"2026-12-01\", or microseconds since 1970")
    case (.text(let text), .bytes), (.text(let text), .uuid):
      // "nil" would be read as null there.
      guard text != "nil", let value = ColumnValue(text, as: type) else { throw wrong("write its digits in base 16") }
      self.init(value, isExact: true)
    case (_, .bytes), (_, .uuid): throw wrong("write its digits in base 16, in quotes")
    case (.integer(let value), .float), (.integer(let value), .double):
      let exact = Double(exactly: value).map { type == .float ? Double(Float($0)) == $0 : true } ?? false
      self.init(exact ? .real(Double(value)) : .integer(value), isExact: exact)
    case (.decimal(let value), .double): self.init(.real(value), isExact: true)
    // As a float holds it, so that what was shown finds its row.
    case (.decimal(let value), .float): self.init(.real(Double(Float(value))), isExact: true)
    case (.integer(let value), .uint64):
      self.init(value >= 0 ? .unsigned(UInt64(value)) : .integer(value), isExact: value >= 0)
    case (.integer(let value), _):
      self.init(.integer(value), isExact: Self.range(type).map { $0.contains(value) } ?? false)
    case (.decimal(let value), _): self.init(.real(value), isExact: false)
    default: throw wrong("write a number")
    }
  }

  private init(_ value: ColumnValue, isExact: Bool) {
    self.value = value
    self.isExact = isExact
  }

  private static func range(_ type: ColumnType) -> ClosedRange<Int64>? {
    switch type {
    case .int8: Int64(Int8.min)...Int64(Int8.max)
    case .int16: Int64(Int16.min)...Int64(Int16.max)
    case .int32: Int64(Int32.min)...Int64(Int32.max)
    case .int64: Int64.min...Int64.max
    case .uint8: 0...Int64(UInt8.max)
    case .uint16: 0...Int64(UInt16.max)
    case .uint32: 0...Int64(UInt32.max)
    default: nil
    }
  }

  private static func kind(_ literal: FilterExpression.Literal) -> String {
    switch literal {
    case .null: "null"
    case .boolean: "a truth value"
    case .integer, .decimal: "a number"
    case .text: "a text"
    }
  }

  private static func text(_ literal: FilterExpression.Literal) -> String {
    switch literal {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .text(let value): JSONText.of(.text(value))
    }
  }
}
