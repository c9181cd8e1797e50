/// The type of a field as it is stored. Raw values are part of the format and never change.
public enum FieldType: UInt8, Hashable, Sendable, CaseIterable {
  case bool = 1
  case int8 = 2
  case int16 = 3
  case int32 = 4
  case int64 = 5
  case uint8 = 6
  case uint16 = 7
  case uint32 = 8
  case uint64 = 9
  case float = 10
  case double = 11
  /// UTF-8.
  case string = 12
  case bytes = 13
  /// Microseconds since 1970, as an `Int64`.
  case timestamp = 14
  /// Sixteen bytes.
  case uuid = 15
  /// A list of one of the other types, which the field names as its `element`.
  case list = 16

  /// The bytes a value takes in the fixed part of a record; `nil` for what is stored behind it.
  @inlinable
  public var fixedWidth: Int? {
    switch self {
    case .bool, .int8, .uint8: 1
    case .int16, .uint16: 2
    case .int32, .uint32, .float: 4
    case .int64, .uint64, .double, .timestamp: 8
    case .uuid: 16
    case .string, .bytes, .list: nil
    }
  }

  /// Whether the value is a two's complement number (a timestamp is one).
  @inlinable
  public var isSignedInteger: Bool {
    switch self {
    case .int8, .int16, .int32, .int64, .timestamp: true
    default: false
    }
  }

  /// Whether the value is an unsigned number.
  @inlinable
  public var isUnsignedInteger: Bool {
    switch self {
    case .uint8, .uint16, .uint32, .uint64: true
    default: false
    }
  }

  /// Whether the value is a binary floating-point number.
  @inlinable
  public var isFloatingPoint: Bool { self == .float || self == .double }
}

extension FieldType: CustomStringConvertible {
  /// The name in error messages and tools: `Int32`, `String`, `list`.
  public var description: String {
    switch self {
    case .bool: "Bool"
    case .int8: "Int8"
    case .int16: "Int16"
    case .int32: "Int32"
    case .int64: "Int64"
    case .uint8: "UInt8"
    case .uint16: "UInt16"
    case .uint32: "UInt32"
    case .uint64: "UInt64"
    case .float: "Float"
    case .double: "Double"
    case .string: "String"
    case .bytes: "[UInt8]"
    case .timestamp: "Timestamp"
    case .uuid: "UUID"
    case .list: "list"
    }
  }
}

extension FieldType {
  /// A value's low `fixedWidth` bytes as the number they mean: sign-extended for signed types, zero-extended for the
  /// others.
  @inlinable
  public func integer(fromBits bits: UInt64) -> Int64 {
    switch self {
    case .int8: Int64(Int8(truncatingIfNeeded: bits))
    case .int16: Int64(Int16(truncatingIfNeeded: bits))
    case .int32: Int64(Int32(truncatingIfNeeded: bits))
    default: Int64(bitPattern: bits)
    }
  }

  /// Whether every value of `source` has an equal value of this type, so that old data can be read as it.
  public func isWidening(of source: FieldType) -> Bool {
    if self == source { return true }
    guard let from = source.fixedWidth, let to = fixedWidth else { return source == .string && self == .bytes }
    if source == .timestamp || self == .timestamp { return false }
    switch (source, self) {
    case (.float, .double): return true
    case _ where source.isSignedInteger && isSignedInteger: return from < to
    case _ where source.isUnsignedInteger && (isUnsignedInteger || isSignedInteger): return from < to
    case _ where (source.isSignedInteger || source.isUnsignedInteger) && isFloatingPoint:
      // 24 and 53 bits of significand hold 16 and 32 bits exactly.
      return from * 2 <= to
    default: return false
    }
  }

  /// The bits of `bits`, a value of `source`, as a value of this type; `isWidening(of: source)` holds.
  func widen(_ bits: UInt64, from source: FieldType) -> UInt64 {
    if self == source { return bits }
    if source == .float { return Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))).bitPattern }
    let value = source.integer(fromBits: bits)
    switch self {
    case .float: return UInt64(Float(value).bitPattern)
    case .double: return Double(value).bitPattern
    default: return UInt64(bitPattern: value)
    }
  }
}
