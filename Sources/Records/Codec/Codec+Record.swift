internal import Bytes

extension Codec where Value: Record {
  /// The codec of a record type: what ``Record/recordCodec()`` says, by default ``planned()``.
  ///
  /// - Throws: ``RecordsError`` naming the stored property that cannot be stored.
  public static var record: Codec {
    get throws(RecordsError) { try Value.recordCodec() }
  }

  /// The codec over the stored properties: straight between memory and bytes, without Codable.
  ///
  /// - Throws: ``RecordsError`` naming the stored property that cannot be stored.
  public static func planned() throws(RecordsError) -> Codec {
    let layout = try RecordLayout.of(Value.self)
    let schema = try layout.schema()
    let (encodePlan, encodeMemory) = EncodePlan.make(layout, schema: schema)
    let (decodePlan, decodeMemory) = try DecodePlan.make(layout, reader: schema, writer: schema, defaults: nil)
    let wire = WireLayout(schema)
    let isFixed = !wire.isBare && wire.lastEnd < 0
    let defaults = Value.recordDefaults
    return Codec(
      schema: schema, fixedSize: isFixed ? wire.fixedSize : nil,
      encoding: layout.isPlain ? .plain : .planned(encodePlan, encodeMemory),
      decoding: layout.isPlain && decodePlan.isOneCopy ? .plain : .planned(decodePlan, decodeMemory),
      evolve: { writer throws(RecordsError) in
        var bytes: [UInt8]?
        if let defaults {
          var buffer = ByteBuffer()
          try unsafe withUnsafePointer(to: defaults) { pointer throws(RecordsError) in
            try unsafe encodePlan.encode(UnsafeRawPointer(pointer), into: &buffer)
          }
          withExtendedLifetime(encodeMemory) {}
          bytes = buffer.array
        }
        let (plan, memory) = try DecodePlan.make(layout, reader: schema, writer: writer, defaults: bytes)
        return .planned(plan, memory)
      })
  }
}

extension Codec where Value: FieldScalar & BitwiseCopyable {
  /// The codec of one fixed-size scalar: its bytes in little-endian order. Equal to ``record``, but cannot fail.
  public static var fixed: Codec {
    let schema = Schema(checked: .scalar, fields: [Schema.Field("value", Value.fieldType)])
    // Only a Bool has bytes that are no value.
    let decoding: Decoding =
      Value.fieldType != .bool
      ? .plain
      : unsafe .custom { (bytes) throws(RecordsError) in
        guard bytes.count == 1, unsafe bytes[0] <= 1 else { throw notBool(bytes.count) }
        return unsafe bytes.loadUnaligned(as: Value.self)
      }
    return Codec(
      schema: schema, fixedSize: MemoryLayout<Value>.size, encoding: .plain, decoding: decoding,
      evolve: { writer throws(RecordsError) in try planned().reading(writtenWith: writer).decoding })
  }

  private static func notBool(_ count: Int) -> RecordsError {
    RecordsError(
      .malformed, type: "Bool", offset: 0, "\(count) bytes that are not a single 0 or 1",
      advice: "the data is cut short or damaged")
  }
}

extension Codec where Value == [UInt8] {
  /// Bytes as they are, without a schema.
  public static var raw: Codec {
    Codec(
      schema: .raw, fixedSize: nil,
      encoding: .custom { (value, buffer) throws(RecordsError) in buffer.append(copy value) },
      decoding: unsafe .custom { (bytes) throws(RecordsError) in unsafe [UInt8](bytes) },
      evolve: { writer throws(RecordsError) in throw .form(writer, read: .raw, type: "[UInt8]") })
  }
}

extension RecordsError {
  /// Data of one form cannot be read as another.
  static func form(_ writer: Schema, read reader: Schema, type: String) -> RecordsError {
    RecordsError(
      .incompatibleSchema, type: type, "the data was written as \(writer.form), the type is read as \(reader.form)",
      advice: "read it with the codec that wrote it")
  }
}
