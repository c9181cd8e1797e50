public import Bytes
public import Records

/// A Swift type whose values can be compared with a column's.
///
/// An enum that stands for a number or a string gets it by declaring it: `extension Kind: ColumnConvertible {}`.
public protocol ColumnConvertible {
  /// The value without its type.
  var columnValue: ColumnValue { get }
}

/// `String` and `String?`: columns that can be searched for text.
public protocol TextColumn {}
extension String: TextColumn {}
extension Optional: TextColumn where Wrapped == String {}

extension Bool: ColumnConvertible { public var columnValue: ColumnValue { .bool(self) } }
extension Int8: ColumnConvertible { public var columnValue: ColumnValue { .integer(Int64(self)) } }
extension Int16: ColumnConvertible { public var columnValue: ColumnValue { .integer(Int64(self)) } }
extension Int32: ColumnConvertible { public var columnValue: ColumnValue { .integer(Int64(self)) } }
extension Int64: ColumnConvertible { public var columnValue: ColumnValue { .integer(self) } }
extension Int: ColumnConvertible { public var columnValue: ColumnValue { .integer(Int64(self)) } }
extension UInt8: ColumnConvertible { public var columnValue: ColumnValue { .integer(Int64(self)) } }
extension UInt16: ColumnConvertible { public var columnValue: ColumnValue { .integer(Int64(self)) } }
extension UInt32: ColumnConvertible { public var columnValue: ColumnValue { .integer(Int64(self)) } }
extension UInt64: ColumnConvertible { public var columnValue: ColumnValue { .unsigned(self) } }
extension UInt: ColumnConvertible { public var columnValue: ColumnValue { .unsigned(UInt64(self)) } }
extension Float: ColumnConvertible { public var columnValue: ColumnValue { .real(Double(self)) } }
extension Double: ColumnConvertible { public var columnValue: ColumnValue { .real(self) } }
extension String: ColumnConvertible { public var columnValue: ColumnValue { .string(self) } }
extension Timestamp: ColumnConvertible { public var columnValue: ColumnValue { .timestamp(self) } }
extension [UInt8]: ColumnConvertible { public var columnValue: ColumnValue { .bytes(self) } }

extension Bytes16: ColumnConvertible {
  public var columnValue: ColumnValue { .bytes(unsafe withUnsafeBytes(of: self) { unsafe [UInt8]($0) }) }
}

extension Optional: ColumnConvertible where Wrapped: ColumnConvertible {
  public var columnValue: ColumnValue { self?.columnValue ?? .null }
}

extension ColumnConvertible where Self: RawRepresentable, RawValue: ColumnConvertible {
  public var columnValue: ColumnValue { rawValue.columnValue }
}
