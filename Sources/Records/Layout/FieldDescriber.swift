internal import Bytes

/// Builds the layout of one type from what the runtime says of its stored properties.
struct FieldDescriber {
  let type: any Any.Type
  private let name: String

  init(type: any Any.Type) {
    self.type = type
    name = String(describing: type)
  }

  func layout() throws(RecordsError) -> RecordLayout {
    let memory = Reflection.memory(of: type)
    if let described = Self.describe(type), let field = described.field("value", offset: 0, type: type) {
      return RecordLayout(
        fields: [field], typeName: name, size: memory.size, alignment: memory.alignment, isScalar: true,
        root: ObjectIdentifier(type))
    }
    let properties = try properties(size: memory.size)
    var fields: [RecordLayout.Field] = []
    for property in properties {
      guard
        let field = Self.describe(property.type)?.field(property.name, offset: property.offset, type: property.type)
      else { throw unsupported(property) }
      fields.append(field)
    }
    return RecordLayout(
      fields: fields, typeName: name, size: memory.size, alignment: memory.alignment, isScalar: false,
      root: ObjectIdentifier(type))
  }

  /// The stored properties, checked to account for the whole memory of the type: each starts where the one before it
  /// ends, rounded up to its alignment, and the last one ends the struct.
  private func properties(size: Int) throws(RecordsError) -> [StoredProperty] {
    guard !(type is AnyClass) else {
      throw RecordsError(
        .unsupportedType, type: name, "a class cannot be a record", advice: "make it a struct, or use Codec.codable")
    }
    guard let properties = Reflection.storedProperties(of: type), size == 0 || !properties.isEmpty,
      properties.allSatisfy({ !$0.name.isEmpty })
    else {
      throw RecordsError(
        .reflectionUnavailable, type: name,
        "the stored properties are not known: it is no struct, or was compiled "
          + "without reflection metadata",
        advice: "build without -disable-reflection-metadata, or use Codec.codable")
    }
    var end = 0
    var last: String?
    for property in properties {
      let memory = Reflection.memory(of: property.type)
      guard property.offset == end.roundedUp(to: memory.alignment) else {
        throw uncovered(after: last, from: end, to: property.offset)
      }
      end = property.offset + memory.size
      last = property.name
    }
    guard end == size else { throw uncovered(after: last, from: end, to: size) }
    return properties
  }

  private func uncovered(after last: String?, from: Int, to: Int) -> RecordsError {
    RecordsError(
      .uncoveredProperty, type: name, field: last, offset: from,
      "memory from byte \(from) to \(to)\(last.map { ", after property '\($0)'," } ?? "") belongs to no known property",
      advice: "use Codec.codable for this type")
  }

  private func unsupported(_ property: StoredProperty) -> RecordsError {
    RecordsError(
      .unsupportedType, type: name, field: property.name,
      "stored properties of type \(property.type) cannot be stored as a field",
      advice: "use a scalar, a String, [UInt8], Timestamp, an enum with raw values, an optional or array of these; "
        + "flatten a nested struct; or return .codable from recordCodec()")
  }
}

extension Int {
  func roundedUp(to alignment: Int) -> Int { (self + alignment - 1) / alignment * alignment }
}
