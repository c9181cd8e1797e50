internal import Bytes

/// A row without a Swift type: for tools.
public struct DynamicRow: Sendable {
  /// The names of the columns, in the order of `values`; the same array for all rows of a query.
  public let columns: [String]
  public let values: [ColumnValue]

  /// The value of the column called `name`; nil if there is none.
  public subscript(name: String) -> ColumnValue? { columns.firstIndex(of: name).map { values[$0] } }
}

/// A query on a view by names, for tools. Nothing is read before `forEach` or `rows`.
public struct DynamicQuery: Sendable {
  /// How a column is compared.
  public enum Comparison: Sendable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    /// Text only.
    case hasPrefix, contains
  }

  /// One condition; all of a query's must hold.
  public struct Condition: Sendable {
    public var column: String
    public var comparison: Comparison
    public var value: ColumnValue

    public init(_ column: String, _ comparison: Comparison, _ value: ColumnValue) {
      self.column = column
      self.comparison = comparison
      self.value = value
    }
  }

  public var conditions: [Condition] = []
  /// The columns wanted, in this order; nil for all.
  public var columns: [String]?
  /// The column to order by; without one rows come in the order of their primary keys.
  public var order: String?
  public var descending = false
  /// At most so many rows.
  public var limit: Int?

  public init() {}
}

extension ColumnValue {
  /// The value that `text` means for a column of `type`; "nil" for nil. Nil if it means none.
  public init?(_ text: String, as type: ColumnType) {
    if text == "nil" {
      self = .null
      return
    }
    switch type {
    case .bool:
      guard let value = Bool(text) else { return nil }
      self = .bool(value)
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32:
      guard let value = Int64(text), let fitting = ColumnValue.integer(value).converted(to: type) else { return nil }
      self = fitting
    case .uint64:
      guard let value = UInt64(text) else { return nil }
      self = .unsigned(value)
    case .float, .double:
      guard let value = Double(text) else { return nil }
      self = .real(value)
    case .string: self = .string(text)
    case .timestamp:
      guard let value = Int64(text) else { return nil }
      self = .timestamp(.init(microseconds: value))
    case .bytes, .uuid, .opaque:
      var bytes: [UInt8] = []
      var digits = text.utf8.filter { $0 != UInt8(ascii: "-") }[...]
      while digits.count >= 2 {
        guard let byte = UInt8(String(decoding: digits.prefix(2), as: UTF8.self), radix: 16) else { return nil }
        bytes.append(byte)
        digits = digits.dropFirst(2)
      }
      guard digits.isEmpty, type != .uuid || bytes.count == 16 else { return nil }
      self = .bytes(bytes)
    }
  }
}
