/// A value that is one CBOR item by itself, without going through `Codable`.
protocol CBORScalar {
  func write(to bytes: inout CBORBytes)
  /// - Throws: ``RecordsError`` if the item at `offset` is not of this type.
  static func read(_ reader: CBORReader, at offset: Int) throws(RecordsError) -> Self
}

extension CBORScalar where Self: FixedWidthInteger {
  func write(to bytes: inout CBORBytes) {
    if self < 0 {
      bytes.append(.negative, UInt64(bitPattern: ~Int64(truncatingIfNeeded: self)))
    } else {
      bytes.append(.unsigned, UInt64(truncatingIfNeeded: self))
    }
  }

  static func read(_ reader: CBORReader, at offset: Int) throws(RecordsError) -> Self {
    let head = try reader.head(at: offset)
    var value: Self?
    switch head.major {
    case .unsigned: value = Self(exactly: head.argument)
    case .negative: value = head.argument >> 63 == 0 ? Self(exactly: ~Int64(bitPattern: head.argument)) : nil
    default: throw reader.mismatch("an integer", at: offset)
    }
    guard let value else { throw reader.malformed("an integer beyond the range of \(Self.self)", at: offset) }
    return value
  }
}

extension Int: CBORScalar {}
extension Int8: CBORScalar {}
extension Int16: CBORScalar {}
extension Int32: CBORScalar {}
extension Int64: CBORScalar {}
extension UInt: CBORScalar {}
extension UInt8: CBORScalar {}
extension UInt16: CBORScalar {}
extension UInt32: CBORScalar {}
extension UInt64: CBORScalar {}

extension Bool: CBORScalar {
  func write(to bytes: inout CBORBytes) { bytes.append(simple: self ? 21 : 20) }

  static func read(_ reader: CBORReader, at offset: Int) throws(RecordsError) -> Bool {
    let head = try reader.head(at: offset)
    guard head.major == .simple, head.width == 0, head.argument == 20 || head.argument == 21 else {
      throw reader.mismatch("a Bool", at: offset)
    }
    return head.argument == 21
  }
}

extension Double: CBORScalar {
  func write(to bytes: inout CBORBytes) { bytes.append(float64: bitPattern) }

  /// Also from a `Float` and an integer: both were written before the property was widened.
  static func read(_ reader: CBORReader, at offset: Int) throws(RecordsError) -> Double {
    let head = try reader.head(at: offset)
    switch (head.major, head.width) {
    case (.simple, 8): return Double(bitPattern: head.argument)
    case (.simple, 4): return Double(Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)))
    case (.unsigned, _), (.negative, _): return Double(try Int64.read(reader, at: offset))
    default: throw reader.mismatch("a number", at: offset)
    }
  }
}

extension Float: CBORScalar {
  func write(to bytes: inout CBORBytes) { bytes.append(float32: bitPattern) }

  static func read(_ reader: CBORReader, at offset: Int) throws(RecordsError) -> Float {
    let value = try Double.read(reader, at: offset)
    guard value.isNaN || Double(Float(value)) == value else {
      throw reader.malformed("a number beyond the precision of Float", at: offset)
    }
    return Float(value)
  }
}

extension String: CBORScalar {
  func write(to bytes: inout CBORBytes) { bytes.append(text: self) }

  static func read(_ reader: CBORReader, at offset: Int) throws(RecordsError) -> String {
    let head = try reader.head(at: offset)
    guard head.major == .text else { throw reader.mismatch("a string", at: offset) }
    let range = try reader.contents(of: head, at: offset)
    guard let text = unsafe reader.bytes[range].withUnsafeBytes({ unsafe makeString($0) }) else {
      throw reader.malformed("a string that is not UTF-8", at: offset)
    }
    return text
  }
}

extension [UInt8]: CBORScalar {
  func write(to bytes: inout CBORBytes) {
    bytes.append(.bytes, UInt64(count))
    bytes.append(contentsOf: self)
  }

  static func read(_ reader: CBORReader, at offset: Int) throws(RecordsError) -> [UInt8] {
    let head = try reader.head(at: offset)
    guard head.major == .bytes else { throw reader.mismatch("bytes", at: offset) }
    return Array(reader.bytes[try reader.contents(of: head, at: offset)])
  }
}
