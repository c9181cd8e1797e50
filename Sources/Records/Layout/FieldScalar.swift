public import Bytes

/// A type that is stored in one field as it is. Not for conformance outside this module: the list is the format.
public protocol FieldScalar: Record {
  /// The type it is stored as.
  static var fieldType: FieldType { get }
}

extension Bool: FieldScalar { public static var fieldType: FieldType { .bool } }
extension Int8: FieldScalar { public static var fieldType: FieldType { .int8 } }
extension Int16: FieldScalar { public static var fieldType: FieldType { .int16 } }
extension Int32: FieldScalar { public static var fieldType: FieldType { .int32 } }
extension Int64: FieldScalar { public static var fieldType: FieldType { .int64 } }
extension Int: FieldScalar { public static var fieldType: FieldType { .int64 } }
extension UInt8: FieldScalar { public static var fieldType: FieldType { .uint8 } }
extension UInt16: FieldScalar { public static var fieldType: FieldType { .uint16 } }
extension UInt32: FieldScalar { public static var fieldType: FieldType { .uint32 } }
extension UInt64: FieldScalar { public static var fieldType: FieldType { .uint64 } }
extension UInt: FieldScalar { public static var fieldType: FieldType { .uint64 } }
extension Float: FieldScalar { public static var fieldType: FieldType { .float } }
extension Double: FieldScalar { public static var fieldType: FieldType { .double } }
extension String: FieldScalar { public static var fieldType: FieldType { .string } }
extension Timestamp: FieldScalar { public static var fieldType: FieldType { .timestamp } }
extension Bytes16: FieldScalar { public static var fieldType: FieldType { .uuid } }

extension Optional: Record where Wrapped: FieldScalar {}
extension Array: Record where Element: FieldScalar {}
