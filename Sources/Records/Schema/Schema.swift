/// What is known of the form of stored values: for a record, its fields in order.
///
/// A store keeps each writer's schema once, by `fingerprint`, so that data written years ago can be read as today's
/// type. The name of the Swift type is no part of it: renaming a struct changes nothing, renaming a property does.
public struct Schema: Hashable, Sendable {
  /// How a value becomes bytes. Raw values are part of the format.
  public enum Form: UInt8, Hashable, Sendable {
    /// A struct's fields: fixed part, then strings.
    case record = 1
    /// One value, as a record of one field named `value`.
    case scalar = 2
    /// Bytes as they are.
    case raw = 3
    /// A `Codable` value in CBOR (RFC 8949): described by itself.
    case codable = 4
    /// A `Codable` value in JSON (RFC 8259).
    case json = 5
  }

  /// One field.
  public struct Field: Hashable, Sendable {
    public let name: String
    public let type: FieldType
    /// The type of a list's elements; `nil` for all other types.
    public let element: FieldType?
    public let isOptional: Bool

    public init(_ name: String, _ type: FieldType, element: FieldType? = nil, isOptional: Bool = false) {
      self.name = name
      self.type = type
      self.element = element
      self.isOptional = isOptional
    }

    /// The type as a Swift programmer writes it: `Int32?`, `[String]`.
    public var typeDescription: String {
      (element.map { "[\($0)]" } ?? type.description) + (isOptional ? "?" : "")
    }
  }

  public let form: Form
  /// The fields in the order of their values; empty for the forms that are not made of fields.
  public let fields: [Field]
  /// XXH64 of the encoded schema: the schema's name in a store.
  public let fingerprint: UInt64

  /// The most fields, and the most bytes of a field's name, that a schema can have.
  public static let limit = Int(UInt16.max)

  /// - Throws: ``RecordsError`` with code `.tooLarge` above ``limit``, `.malformed` if a name occurs twice or a list
  ///   has no element type.
  public init(_ form: Form, fields: [Field] = []) throws(RecordsError) {
    try Self.check(form, fields)
    self.init(checked: form, fields: fields)
  }

  init(checked form: Form, fields: [Field]) {
    self.form = form
    self.fields = fields
    fingerprint = Self.fingerprint(of: Self.encoded(form, fields))
  }

  /// The schema of bytes that are stored as they are.
  public static let raw = Schema(checked: .raw, fields: [])
  static let codable = Schema(checked: .codable, fields: [])
  static let json = Schema(checked: .json, fields: [])

  /// The index of the field named `name`.
  public func index(named name: String) -> Int? { fields.firstIndex { $0.name == name } }
}

extension Schema: CustomStringConvertible {
  /// `record(product: String, campaign: Int32?)`
  public var description: String {
    let list = fields.map { "\($0.name): \($0.typeDescription)" }.joined(separator: ", ")
    return fields.isEmpty ? "\(form)" : "\(form)(\(list))"
  }
}

extension RecordLayout {
  /// The schema that values of this layout are written with.
  ///
  /// - Throws: ``RecordsError`` with code `.tooLarge`, for a type with more fields than a schema can have.
  public func schema() throws(RecordsError) -> Schema {
    try Schema(
      isScalar ? .scalar : .record,
      fields: fields.map { Schema.Field($0.name, $0.type, element: $0.element, isOptional: $0.isOptional) })
  }
}
