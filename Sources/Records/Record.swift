/// A type whose values are stored: an event, a state, a row of a view.
///
/// A conforming struct says: *my stored properties are my schema, named as they are*. Its memory is read and written
/// directly, so a custom `init(from:)` or `encode(to:)` is **not** called; a type whose initialiser must run returns
/// `.codable` from ``recordCodec()``.
///
/// Stored properties may be `Bool`, the integers, `Float`, `Double`, `String`, `[UInt8]`, `Timestamp`, ``Bytes16``,
/// Foundation's `UUID`, enums and structs that are `RawRepresentable` by one of the numbers or `String`, optionals of
/// all these, and arrays of the scalars. A nested struct, a dictionary or a class is refused by name when the codec is
/// made: flatten it, or use the Codable codec.
///
/// Scalars, strings, byte arrays and their optionals and arrays are records too, so they can be a job's state as they
/// are.
public protocol Record: Codable, Sendable {
  /// The value that lends its properties to fields which older data does not have. `nil` (the default) means: a field
  /// that was added must be optional, and reads as `nil`.
  static var recordDefaults: Self? { get }

  /// The codec of this type. By default the planned codec over its stored properties.
  ///
  /// - Throws: ``RecordsError`` when a stored property cannot be stored, naming it.
  static func recordCodec() throws(RecordsError) -> Codec<Self>
}

extension Record {
  public static var recordDefaults: Self? { nil }

  public static func recordCodec() throws(RecordsError) -> Codec<Self> { try Codec<Self>.planned() }
}
