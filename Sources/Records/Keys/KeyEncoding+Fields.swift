public import Bytes

// Keys of values whose type is known only as a `FieldType`: columns, index entries, untyped rows.
extension KeyEncoding {
  /// Appends a number, Bool or timestamp that is given by its bits (as `RecordLayout.Field.bits(in:)` gives them).
  ///
  /// - Precondition: `type` has at most eight bytes.
  public static func append(bits: UInt64, of type: FieldType, to key: inout ByteBuffer) {
    switch type {
    case .bool: key.append(bits == 0 ? 0 : 1 as UInt8)
    case .int8, .int16, .int32, .int64, .timestamp: append(type.integer(fromBits: bits), to: &key)
    case .uint8, .uint16, .uint32, .uint64: append(bits, to: &key)
    case .float: append(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))), to: &key)
    case .double: append(Double(bitPattern: bits), to: &key)
    case .string, .bytes, .uuid, .list: preconditionFailure("\(type) is not given by bits")
    }
  }

  /// Appends a string, byte array, UUID or list that is given by its bytes. A UUID has no need of an end mark.
  public static func append(
    bytes: UnsafeRawBufferPointer, of type: FieldType, isLast: Bool, to key: inout ByteBuffer
  ) {
    if isLast || type == .uuid {
      unsafe append(bytes, to: &key)
    } else {
      unsafe appendPart(bytes, to: &key)
    }
  }
}

extension RecordLayout.Field {
  /// Appends the field of the struct at `base` as a part of a key; as the last one, strings need no end mark.
  ///
  /// The bytes are those of the property's own ``RecordKey``. Lists order by their stored bytes: equal ones are equal,
  /// and no more is promised.
  @unsafe
  public func appendKey(in base: UnsafeRawPointer, isLast: Bool, to key: inout ByteBuffer) {
    if isOptional {
      if unsafe isNull(in: base) { return KeyEncoding.appendNull(to: &key) }
      KeyEncoding.appendPresent(to: &key)
    }
    if let bits = unsafe bits(in: base) {
      KeyEncoding.append(bits: bits, of: type, to: &key)
    } else {
      _ = unsafe withBytes(in: base) { unsafe KeyEncoding.append(bytes: $0, of: type, isLast: isLast, to: &key) }
    }
  }

  /// Initialises the field of the struct at `base` with the next part of `key`. When it throws, the field holds
  /// nothing.
  ///
  /// - Throws: ``RecordsError`` with code `.malformed`, naming the field.
  @unsafe
  public func initialize(
    fromKey key: inout KeyReader, isLast: Bool, in base: UnsafeMutableRawPointer
  ) throws(RecordsError) {
    let start = key.offset
    if isOptional {
      let isPresent = try key.nextIsPresent()
      if !isPresent {
        _ = unsafe initializeNull(in: base)
        return
      }
    }
    let isGood: Bool
    switch type {
    case .string, .bytes, .list:
      if isLast {
        isGood = unsafe initialize(bytes: key.rest(), in: base)
      } else {
        var buffer = ByteBuffer(capacity: 64)
        try key.nextPart(into: &buffer)
        isGood = unsafe initialize(bytes: buffer.bytes, in: base)
      }
    case .uuid:
      var value = try key.nextBytes16()
      isGood = unsafe withUnsafeBytes(of: &value) { unsafe initialize(bytes: $0, in: base) }
    default:
      guard let bits = try key.nextBits(of: type) else {
        isGood = false
        break
      }
      isGood = unsafe initialize(bits: bits, in: base)
    }
    guard isGood else {
      throw RecordsError(
        .malformed, field: name, offset: start, "a key whose part is no value of the field",
        advice: "the key is damaged, or of another type")
    }
  }
}

extension KeyReader {
  /// The bits of a number of `type`; `nil` if the key has a number that the type cannot hold.
  mutating func nextBits(of type: FieldType) throws(RecordsError) -> UInt64? {
    switch type {
    case .bool: return try nextBool() ? 1 : 0
    case .float:
      let value = try nextDouble()
      return value.isNaN || Double(Float(value)) == value ? Float(value).rawBits : nil
    case .double: return try nextDouble().bitPattern
    case .uint8, .uint16, .uint32, .uint64:
      let value = try nextUInt64()
      return value <= UInt64.max >> UInt64(64 - 8 * (type.fixedWidth ?? 8)) ? value : nil
    default:
      let value = try nextInt64()
      return type.integer(fromBits: UInt64(bitPattern: value)) == value ? UInt64(bitPattern: value) : nil
    }
  }
}
