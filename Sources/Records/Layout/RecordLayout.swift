/// Where the fields of a record type lie in its memory.
///
/// Made once per type and use, not per record. Immutable, so it may be used from any thread.
public struct RecordLayout: Sendable {
  /// One stored property.
  @safe
  public struct Field: Sendable {
    public let name: String
    /// The type it is stored as: an enum has the type of its raw values.
    public let type: FieldType
    /// The type of a list's elements; `nil` for all other types.
    public let element: FieldType?
    public let isOptional: Bool
    /// Bytes from the start of the struct in memory.
    public let offset: Int
    /// Bytes in memory, with what an optional adds.
    public let size: Int
    /// Set where memory and stored form differ by more than an optional's tag.
    let converter: FieldConverter?
    /// Ends the life of the property at an address; `nil` where there is nothing to do.
    // Invariant: called only by `deinitialize`, with the address of an initialised value of the property's type.
    let destroy: (@Sendable (UnsafeMutableRawPointer) -> Void)?
    /// The property's Swift type, for telling a property from a part of it.
    let swiftType: ObjectIdentifier

    /// Whether the property's memory is exactly its stored form.
    public var isPlain: Bool { !isOptional && converter == nil && type.fixedWidth == size }
  }

  /// The stored properties in declaration order. A scalar type has one field, named `value`.
  public let fields: [Field]
  /// The Swift type's name, for messages.
  public let typeName: String
  /// Bytes of a value in memory, without the padding behind it.
  public let size: Int
  public let alignment: Int
  /// Whether the type is one scalar, not a struct of fields.
  public let isScalar: Bool
  let root: ObjectIdentifier

  /// Whether a value's memory is exactly its encoded form: plain fields without a gap.
  public var isPlain: Bool {
    fields.allSatisfy(\.isPlain) && fields.reduce(0) { $0 + $1.size } == size
  }

  /// The layout of `type`.
  ///
  /// - Throws: ``RecordsError`` naming the stored property that cannot be stored, or the type if the runtime does not
  ///   describe it.
  public static func of<T: Record>(_ type: T.Type) throws(RecordsError) -> RecordLayout {
    try FieldDescriber(type: type).layout()
  }
}
