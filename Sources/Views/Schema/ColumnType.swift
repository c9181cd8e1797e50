/// The stored type of a column. The raw values are part of the format and never change their meaning.
public enum ColumnType: UInt8, Sendable, Hashable, CaseIterable {
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
  case string = 12
  case bytes = 13
  case timestamp = 14
  case uuid = 15
  /// Bytes in the encoding of the record layer: stored and returned, never compared.
  case opaque = 64

  /// How values of the type are held between memory and disk.
  package enum Storage: UInt8, Sendable {
    /// A signed 64-bit integer whose order is the type's order (unsigned 64-bit values have their top bit flipped).
    case integer
    /// A double; `float` widens without loss.
    case real
    /// A run of bytes, ordered bytewise.
    case bytes
  }

  package var storage: Storage {
    switch self {
    case .bool, .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64, .timestamp: .integer
    case .float, .double: .real
    case .string, .bytes, .uuid, .opaque: .bytes
    }
  }

  /// Whether every value of `self` is a value of `wider`, in the same order: readers may widen so.
  package func widens(to wider: ColumnType) -> Bool {
    if self == wider { return true }
    switch (self, wider) {
    case (.int8, .int16), (.int8, .int32), (.int8, .int64), (.int16, .int32), (.int16, .int64), (.int32, .int64),
      (.uint8, .uint16), (.uint8, .uint32), (.uint16, .uint32),
      (.uint8, .int16), (.uint8, .int32), (.uint8, .int64), (.uint16, .int32), (.uint16, .int64), (.uint32, .int64),
      (.float, .double):
      return true
    default: return false
    }
  }
}

extension ColumnType: CustomStringConvertible {
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
    case .bytes: "bytes"
    case .timestamp: "Timestamp"
    case .uuid: "UUID"
    case .opaque: "opaque"
    }
  }
}
