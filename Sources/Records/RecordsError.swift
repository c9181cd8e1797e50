/// What goes wrong when a type is described, a value is written, or bytes are read.
public struct RecordsError: Error, Sendable {
  /// The kind of error. New codes may be added: end a `switch` with `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case unsupportedType, reflectionUnavailable, uncoveredProperty, unknownProperty, incompatibleSchema, malformed
      case tooLarge, unencodable, unknownSchema, schemaCollision, storage
    }
    private let kind: Kind

    /// A type, or one of its stored properties, has a type that the planned codec does not store.
    public static let unsupportedType = Code(kind: .unsupportedType)
    /// The program was built without reflection metadata for a record type.
    public static let reflectionUnavailable = Code(kind: .reflectionUnavailable)
    /// The stored properties found do not account for the type's memory.
    public static let uncoveredProperty = Code(kind: .uncoveredProperty)
    /// A key path is not a stored property of the record: it is computed, or a part of a property.
    public static let unknownProperty = Code(kind: .unknownProperty)
    /// Data written with one schema cannot be read as the other.
    public static let incompatibleSchema = Code(kind: .incompatibleSchema)
    /// The bytes are not what the schema says.
    public static let malformed = Code(kind: .malformed)
    /// A value is beyond the format's limits.
    public static let tooLarge = Code(kind: .tooLarge)
    /// A value's own `encode(to:)` threw.
    public static let unencodable = Code(kind: .unencodable)
    /// No schema is known by the fingerprint that the data names.
    public static let unknownSchema = Code(kind: .unknownSchema)
    /// Two different schemas have one fingerprint.
    public static let schemaCollision = Code(kind: .schemaCollision)
    /// The storage behind a ``SchemaRegistry`` failed: see `cause`.
    public static let storage = Code(kind: .storage)

    public var description: String { kind.rawValue }
  }

  // One reference, so that a throwing function returns a word.
  private final class Storage: Sendable {
    let code: Code
    let type: String?
    let field: String?
    let offset: Int?
    let reason: String
    let advice: String?
    let cause: (any Error)?

    init(
      code: Code, type: String?, field: String?, offset: Int?, reason: String, advice: String?, cause: (any Error)?
    ) {
      self.code = code
      self.type = type
      self.field = field
      self.offset = offset
      self.reason = reason
      self.advice = advice
      self.cause = cause
    }
  }
  private let storage: Storage

  public init(
    _ code: Code, type: String? = nil, field: String? = nil, offset: Int? = nil, _ reason: String,
    advice: String? = nil, cause: (any Error)? = nil
  ) {
    storage = Storage(
      code: code, type: type, field: field, offset: offset, reason: reason, advice: advice, cause: cause)
  }

  public var code: Code { storage.code }
  /// The Swift type concerned.
  public var type: String? { storage.type }
  /// The field (stored property) concerned.
  public var field: String? { storage.field }
  /// Where in the bytes of the value, in bytes from its start.
  public var offset: Int? { storage.offset }
  /// What happened.
  public var reason: String { storage.reason }
  /// What to do about it.
  public var advice: String? { storage.advice }
  /// The error underneath.
  public var cause: (any Error)? { storage.cause }

  /// Whether the same call may succeed later without a change to program or data.
  public var isRetriable: Bool { code == .storage }
}

extension RecordsError: CustomStringConvertible {
  public var description: String {
    var text = reason
    var place: [String] = []
    if let field { place.append("field '\(field)'") }
    if let type { place.append(field == nil ? "type \(type)" : "of \(type)") }
    if let offset { place.append("at byte \(offset)") }
    if !place.isEmpty { text += " (\(place.joined(separator: " ")))" }
    if let advice { text += ": \(advice)" }
    if let cause { text += " [\(cause)]" }
    return text
  }
}
