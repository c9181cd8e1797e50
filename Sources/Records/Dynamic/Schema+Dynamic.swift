internal import Bytes

extension Schema {
  /// The values of a record or scalar of this schema, in field order.
  ///
  /// - Throws: ``RecordsError`` with code `.malformed`, with field and offset; `.incompatibleSchema` for the forms that
  ///   have no fields.
  public func dynamicValues(_ bytes: UnsafeRawBufferPointer) throws(RecordsError) -> [DynamicValue] {
    guard form == .record || form == .scalar else {
      throw RecordsError(
        .incompatibleSchema, "values of form \(form) have no fields", advice: "show them as bytes or text")
    }
    let wire = WireLayout(self)
    let variable = bytes.count - wire.fixedSize
    let end = wire.lastEnd < 0 || variable < 0 ? 0 : unsafe Int(bytes.little(UInt32.self, at: wire.lastEnd))
    guard variable >= 0, wire.isBare || end == variable else {
      throw RecordsError(
        .malformed, offset: min(bytes.count, wire.fixedSize),
        "\(bytes.count) bytes; by its own account the record has \(wire.fixedSize + end)",
        advice: "the data is cut short or damaged")
    }
    var values: [DynamicValue] = []
    for (field, slot) in zip(fields, wire.slots) {
      values.append(try unsafe value(field, slot, wire, bytes))
    }
    return values
  }

  private func value(
    _ field: Field, _ slot: WireLayout.Slot, _ wire: WireLayout, _ bytes: UnsafeRawBufferPointer
  ) throws(RecordsError) -> DynamicValue {
    if slot.nullBit >= 0, unsafe bytes[slot.nullBit / 8] & 1 << UInt8(slot.nullBit % 8) != 0 { return .null }
    var range = slot.offset..<slot.offset + (field.type.fixedWidth ?? 0)
    if field.type.fixedWidth == nil {
      let begin = slot.previousEnd < 0 ? 0 : unsafe Int(bytes.little(UInt32.self, at: slot.previousEnd))
      let end = wire.isBare ? bytes.count : unsafe Int(bytes.little(UInt32.self, at: slot.offset))
      guard begin <= end, end <= bytes.count - wire.fixedSize else {
        throw malformed(field, slot.offset, "the field's end lies outside the record")
      }
      range = wire.fixedSize + begin..<wire.fixedSize + end
    }
    let contents = unsafe bytes.slice(range.lowerBound, range.count)
    guard let value = unsafe DynamicValue(bytes: contents, of: field.type, element: field.element) else {
      throw malformed(field, range.lowerBound, "no value of the field's type")
    }
    return value
  }

  private func malformed(_ field: Field, _ offset: Int, _ reason: String) -> RecordsError {
    RecordsError(.malformed, field: field.name, offset: offset, reason, advice: "the data is damaged")
  }
}

extension KeyReader {
  /// The next part of a key whose type is known only as a `FieldType`.
  ///
  /// - Throws: ``RecordsError`` with code `.malformed`.
  public mutating func nextDynamic(
    _ type: FieldType, isOptional: Bool, isLast: Bool, element: FieldType? = nil
  ) throws(RecordsError) -> DynamicValue {
    if isOptional {
      let isPresent = try nextIsPresent()
      if !isPresent { return .null }
    }
    let start = self
    var value: DynamicValue?
    switch type {
    case .uuid: value = .uuid(try nextBytes16())
    case .string, .bytes, .list:
      if isLast {
        value = unsafe DynamicValue(bytes: rest(), of: type, element: element)
      } else {
        var buffer = ByteBuffer(capacity: 64)
        try nextPart(into: &buffer)
        value = unsafe DynamicValue(bytes: buffer.bytes, of: type, element: element)
      }
    default: value = try nextBits(of: type).flatMap { DynamicValue(bits: $0, of: type) }
    }
    guard let value else { throw start.malformed("no value of type \(type)") }
    return value
  }
}
