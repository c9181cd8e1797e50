public import Bytes
public import Records

/// A type whose values can be keys, in the canonical encoding of `KeyEncoding`: equal values have equal bytes, and the
/// order of the bytes is the order of the values.
///
/// Integers of any width take eight bytes, so that a key may be widened; strings are their UTF-8 bytes (composed and
/// decomposed forms are different keys, though Swift's `==` merges them).
public protocol KeyEncodable: Sendable {
  /// Appends the key to a column.
  func append(to column: inout KeyColumn)
  /// Appends the bytes of the key, as a whole key or the last part of one.
  func encodeKey(into buffer: inout ByteBuffer)
  /// The value of a whole key; nil if the bytes are not one.
  static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Self?
}

extension KeyEncodable where Self: FixedWidthInteger {
  /// The word whose big-endian bytes order as the values do.
  @inlinable
  var ordered: UInt64 {
    Self.isSigned ? KeyEncoding.ordered(Int64(truncatingIfNeeded: self)) : UInt64(truncatingIfNeeded: self)
  }

  @inlinable
  public func append(to column: inout KeyColumn) { column.append(eightBytes: ordered.byteSwapped) }

  @inlinable
  public func encodeKey(into buffer: inout ByteBuffer) { buffer.append(bigEndian: ordered) }

  @inlinable
  public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Self? {
    guard bytes.count == 8 else { return nil }
    let word = unsafe bytes.big(UInt64.self, at: 0)
    return isSigned ? Self(exactly: Int64(bitPattern: word ^ 1 &<< 63)) : Self(exactly: word)
  }
}

extension Int64: KeyEncodable {}
extension Int32: KeyEncodable {}
extension Int16: KeyEncodable {}
extension Int8: KeyEncodable {}
extension Int: KeyEncodable {}
extension UInt64: KeyEncodable {}
extension UInt32: KeyEncodable {}
extension UInt16: KeyEncodable {}
extension UInt8: KeyEncodable {}
extension UInt: KeyEncodable {}

extension Timestamp: KeyEncodable {
  @inlinable public func append(to column: inout KeyColumn) { microseconds.append(to: &column) }
  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { microseconds.encodeKey(into: &buffer) }
  @inlinable public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
    unsafe Int64.decodeKey(bytes).map(Timestamp.init(microseconds:))
  }
}

extension Bool: KeyEncodable {
  @inlinable
  public func append(to column: inout KeyColumn) {
    var byte: UInt8 = self ? 1 : 0
    unsafe withUnsafeBytes(of: &byte) { unsafe column.append($0) }
  }

  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { KeyEncoding.append(self, to: &buffer) }

  public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Bool? {
    guard bytes.count == 1 else { return nil }
    let byte = unsafe bytes[0]
    return byte > 1 ? nil : byte == 1
  }
}

extension Double: KeyEncodable {
  @inlinable
  public func append(to column: inout KeyColumn) {
    column.append(eightBytes: KeyEncoding.ordered(self).byteSwapped)
  }

  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { KeyEncoding.append(self, to: &buffer) }

  public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Double? {
    guard bytes.count == 8 else { return nil }
    let word = unsafe bytes.big(UInt64.self, at: 0)
    return Double(bitPattern: word >> 63 == 1 ? word ^ 1 << 63 : ~word)
  }
}

extension Bytes16: KeyEncodable {
  @inlinable
  public func append(to column: inout KeyColumn) {
    unsafe withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
      unsafe bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
      unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
      unsafe column.append(UnsafeRawBufferPointer(bytes))
    }
  }

  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { KeyEncoding.append(self, to: &buffer) }

  public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Bytes16? {
    guard bytes.count == 16 else { return nil }
    return unsafe Bytes16(high: bytes.big(UInt64.self, at: 0), low: bytes.big(UInt64.self, at: 8))
  }
}

extension String: KeyEncodable {
  @inlinable
  public func append(to column: inout KeyColumn) {
    var copy = self
    copy.withUTF8 { unsafe column.append(UnsafeRawBufferPointer($0)) }
  }

  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { KeyEncoding.append(self, to: &buffer) }

  public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> String? {
    unsafe String(validating: bytes, as: UTF8.self)
  }
}

extension [UInt8]: KeyEncodable {
  @inlinable
  public func append(to column: inout KeyColumn) { unsafe withUnsafeBytes { unsafe column.append($0) } }
  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { buffer.append(self) }
  public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? { unsafe [UInt8](bytes) }
}
