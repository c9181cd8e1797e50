public import Bytes

/// A type whose values can be keys. The encoding is part of the format: equal values have equal bytes, and the bytes'
/// order is the values' order.
///
/// Integers are big-endian, signed ones with the sign bit flipped; strings are their UTF-8 bytes (composed and
/// decomposed forms are different keys, though Swift's `==` merges them); times are their microseconds. Parts of a
/// composite key stand one behind the other: fixed-size parts as they are; strings and bytes with every zero byte
/// followed by 0xFF and the part closed by two zero bytes.
public protocol KeyEncodable: Sendable {
  /// Appends the key to a column.
  func append(to column: inout KeyColumn)
  /// Appends the bytes of the key.
  func encodeKey(into buffer: inout ByteBuffer)
  /// The value of a whole key; nil if the bytes are not one.
  static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Self?
  /// Whether every value takes the same number of bytes, so that composites need no delimiter.
  static var hasFixedKeySize: Bool { get }
}

extension KeyEncodable {
  @inlinable public static var hasFixedKeySize: Bool { false }
}

extension KeyEncodable where Self: FixedWidthInteger & BitwiseCopyable {
  @inlinable public static var hasFixedKeySize: Bool { true }

  @inlinable
  var ordered: Self { Self.isSigned ? self ^ Self.min : self }

  @inlinable
  public func append(to column: inout KeyColumn) {
    if MemoryLayout<Self>.size == 8 {
      column.append(eightBytes: UInt64(truncatingIfNeeded: ordered.bigEndian).littleEndian)
    } else {
      var word = ordered.bigEndian
      unsafe withUnsafeBytes(of: &word) { unsafe column.append($0) }
    }
  }

  @inlinable
  public func encodeKey(into buffer: inout ByteBuffer) { buffer.append(bigEndian: ordered) }

  @inlinable
  public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Self? {
    bytes.count == MemoryLayout<Self>.size ? unsafe bytes.big(Self.self, at: 0).ordered : nil
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
  @inlinable public static var hasFixedKeySize: Bool { true }
  @inlinable public func append(to column: inout KeyColumn) { microseconds.append(to: &column) }
  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { microseconds.encodeKey(into: &buffer) }
  @inlinable public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
    unsafe Int64.decodeKey(bytes).map(Timestamp.init(microseconds:))
  }
}

extension Bool: KeyEncodable {
  @inlinable public static var hasFixedKeySize: Bool { true }
  @inlinable public func append(to column: inout KeyColumn) { UInt8(self ? 1 : 0).append(to: &column) }
  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { buffer.append(UInt8(self ? 1 : 0)) }
  @inlinable public static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> Bool? {
    unsafe UInt8.decodeKey(bytes).map { $0 != 0 }
  }
}

extension String: KeyEncodable {
  @inlinable
  public func append(to column: inout KeyColumn) {
    var copy = self
    copy.withUTF8 { unsafe column.append(UnsafeRawBufferPointer($0)) }
  }

  @inlinable public func encodeKey(into buffer: inout ByteBuffer) { buffer.append(utf8: self) }

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
