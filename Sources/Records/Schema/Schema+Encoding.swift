internal import Bytes

// The canonical bytes of a schema: version (1), form, number of fields u16; per field: type, with 0x80 set if optional;
// element type or 0; length of the name u16; name in UTF-8. Little-endian. Equal schemas have equal bytes.
extension Schema {
  private static let version: UInt8 = 1

  /// The schema as bytes, to be stored beside the data.
  public func encoded() -> [UInt8] { Self.encoded(form, fields) }

  static func encoded(_ form: Form, _ fields: [Field]) -> [UInt8] {
    var buffer = ByteBuffer(capacity: 4 + 16 * fields.count)
    buffer.append(version)
    buffer.append(form.rawValue)
    buffer.append(UInt16(truncatingIfNeeded: fields.count))
    for field in fields {
      buffer.append(field.type.rawValue | (field.isOptional ? 0x80 : 0))
      buffer.append(field.element?.rawValue ?? 0)
      buffer.append(UInt16(truncatingIfNeeded: field.name.utf8.count))
      buffer.append(utf8: field.name)
    }
    return buffer.array
  }

  static func fingerprint(of encoded: [UInt8]) -> UInt64 {
    unsafe encoded.withUnsafeBytes { unsafe KeyHash($0).value }
  }

  static func check(_ form: Form, _ fields: [Field]) throws(RecordsError) {
    guard fields.count <= limit else {
      throw RecordsError(.tooLarge, "\(fields.count) fields; at most \(limit) are possible", advice: "split the type")
    }
    guard form == .record || fields.count == (form == .scalar ? 1 : 0) else {
      throw RecordsError(.malformed, "a schema of form \(form) cannot have \(fields.count) fields")
    }
    var names: Set<[UInt8]> = []
    for field in fields {
      // By bytes: Swift's String comparison takes composed and decomposed letters for equal.
      let name = Array(field.name.utf8)
      guard name.count <= limit else {
        throw RecordsError(.tooLarge, field: field.name, "a name of \(name.count) bytes; at most \(limit) are possible")
      }
      guard names.insert(name).inserted else {
        throw RecordsError(.malformed, field: field.name, "the name occurs twice")
      }
      guard (field.type == .list) == (field.element != nil), field.element != .list, field.element != .bytes else {
        throw RecordsError(.malformed, field: field.name, "a list needs an element type, and only a list has one")
      }
    }
  }

  /// The schema that `bytes` encode.
  ///
  /// - Throws: ``RecordsError`` with code `.malformed`; a version, form or type that this library does not know is
  ///   reported as written by a newer one.
  public init(decoding bytes: UnsafeRawBufferPointer) throws(RecordsError) {
    var reader = unsafe BoundedReader(bytes, subject: "a schema")
    let version = try reader.next(UInt8.self)
    guard version == Self.version else { throw Self.newer("version \(version)", at: 0) }
    let form = try reader.next(UInt8.self)
    guard let form = Form(rawValue: form) else { throw Self.newer("form \(form)", at: 1) }
    var fields: [Field] = []
    for _ in 0..<(try reader.next(UInt16.self)) {
      let offset = reader.offset
      let code = try reader.next(UInt8.self)
      let elementCode = try reader.next(UInt8.self)
      guard let type = FieldType(rawValue: code & 0x7F) else { throw Self.newer("field type \(code)", at: offset) }
      let element = FieldType(rawValue: elementCode)
      guard elementCode == 0 || element != nil else { throw Self.newer("element type \(elementCode)", at: offset + 1) }
      let name = try reader.nextString(Int(reader.next(UInt16.self)))
      fields.append(Field(name, type, element: element, isOptional: code & 0x80 != 0))
    }
    try reader.end()
    try self.init(form, fields: fields)
  }

  private static func newer(_ what: String, at offset: Int) -> RecordsError {
    RecordsError(
      .malformed, offset: offset, "a schema of unknown \(what)",
      advice: "it was written by a newer library, or is damaged")
  }
}
