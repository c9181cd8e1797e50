public import Bytes

/// A type whose values are keys or parts of keys, in the encoding of ``KeyEncoding``.
///
/// An enum with raw values conforms by saying so. A struct conforms by appending its properties with
/// ``appendKeyPart(to:)``, the last one with ``appendKey(to:)``.
public protocol RecordKey: Sendable {
  /// Appends the value as a whole key, or as the last part of one.
  func appendKey(to key: inout ByteBuffer)

  /// Appends the value as a part behind which another part follows. The same bytes as ``appendKey(to:)`` for types
  /// whose encoding shows its own end.
  func appendKeyPart(to key: inout ByteBuffer)

  /// The value of the next part of `key`.
  ///
  /// - Throws: ``RecordsError`` with code `.malformed` for bytes that no value encodes to.
  static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Self
}

extension RecordKey {
  @inlinable
  public func appendKeyPart(to key: inout ByteBuffer) { appendKey(to: &key) }

  /// The value that `bytes`, a whole key, hold.
  public init(key bytes: UnsafeRawBufferPointer) throws(RecordsError) {
    var reader = unsafe KeyReader(bytes)
    self = try Self.readKey(&reader, isLast: true)
    try reader.end()
  }
}

extension RecordKey where Self: FixedWidthInteger {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) {
    if Self.isSigned {
      KeyEncoding.append(Int64(truncatingIfNeeded: self), to: &key)
    } else {
      KeyEncoding.append(UInt64(truncatingIfNeeded: self), to: &key)
    }
  }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Self {
    let start = key
    let value = Self.isSigned ? Self(exactly: try key.nextInt64()) : Self(exactly: try key.nextUInt64())
    guard let value else { throw start.malformed("a number beyond the range of \(Self.self)") }
    return value
  }
}

extension Int: RecordKey {}
extension Int8: RecordKey {}
extension Int16: RecordKey {}
extension Int32: RecordKey {}
extension Int64: RecordKey {}
extension UInt: RecordKey {}
extension UInt8: RecordKey {}
extension UInt16: RecordKey {}
extension UInt32: RecordKey {}
extension UInt64: RecordKey {}

extension Bool: RecordKey {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) { KeyEncoding.append(self, to: &key) }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Bool { try key.nextBool() }
}

extension Double: RecordKey {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) { KeyEncoding.append(self, to: &key) }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Double {
    try key.nextDouble()
  }
}

extension Float: RecordKey {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) { KeyEncoding.append(Double(self), to: &key) }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Float {
    let start = key
    let value = try key.nextDouble()
    guard value.isNaN || Double(Float(value)) == value else {
      throw start.malformed("a number beyond the precision of Float")
    }
    return Float(value)
  }
}

extension Timestamp: RecordKey {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) { KeyEncoding.append(self, to: &key) }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Timestamp {
    try key.nextTimestamp()
  }
}

extension Bytes16: RecordKey {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) { KeyEncoding.append(self, to: &key) }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> Bytes16 {
    try key.nextBytes16()
  }
}

extension String: RecordKey {
  @inlinable
  public func appendKey(to key: inout ByteBuffer) { KeyEncoding.append(self, to: &key) }
  public func appendKeyPart(to key: inout ByteBuffer) { KeyEncoding.appendPart(self, to: &key) }

  public static func readKey(_ key: inout KeyReader, isLast: Bool) throws(RecordsError) -> String {
    try key.nextString(isLast: isLast)
  }
}
