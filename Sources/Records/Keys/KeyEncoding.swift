public import Bytes

/// Keys whose bytes, compared as unsigned, order as their values do.
///
/// Part of the format: keys place records in partitions and key groups, order views and secondary indexes. The encoding
/// is canonical: equal values have equal bytes, and only the bytes that encode a value decode.
///
/// | value | bytes |
/// |---|---|
/// | signed integers, `Timestamp` | as `Int64`: 8 bytes, big-endian, sign bit flipped, whatever the width |
/// | unsigned integers | as `UInt64`: 8 bytes, big-endian, whatever the width |
/// | `Float`, `Double` | as `Double`: 8 bytes, big-endian, sign bit flipped, all bits if negative; −0 as +0, one NaN |
/// | `Bool` | one byte, 0 or 1 |
/// | `Bytes16` | its 16 bytes |
/// | `String`, `[UInt8]` | UTF-8 or the bytes as they are, when they are the last part of a key |
/// | the same before another part | the bytes with 00 as 00 FF, ended by 00 01 |
/// | optional | 00 for nil, or 01 and the value |
///
/// Strings are keys by their UTF-8 bytes: "é" composed and decomposed are two keys, though Swift's `==` takes them for
/// equal. Widths do not show, so a key property may be widened without moving its records.
public enum KeyEncoding {
  /// The word whose big-endian bytes order as signed integers do.
  @inlinable
  public static func ordered(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ (1 << 63) }

  /// The word whose big-endian bytes order as doubles do: NaN above all and equal to itself, −0 equal to +0.
  @inlinable
  public static func ordered(_ value: Double) -> UInt64 {
    if value.isNaN { return 0xFFF8_0000_0000_0000 }
    let bits = value == 0 ? 0 : value.bitPattern
    return bits >> 63 == 1 ? ~bits : bits | (1 << 63)
  }

  @inlinable
  public static func append(_ value: Int64, to key: inout ByteBuffer) { key.append(bigEndian: ordered(value)) }

  @inlinable
  public static func append(_ value: UInt64, to key: inout ByteBuffer) { key.append(bigEndian: value) }

  @inlinable
  public static func append(_ value: Double, to key: inout ByteBuffer) { key.append(bigEndian: ordered(value)) }

  @inlinable
  public static func append(_ value: Bool, to key: inout ByteBuffer) { key.append(value ? 1 : 0 as UInt8) }

  @inlinable
  public static func append(_ value: Timestamp, to key: inout ByteBuffer) { append(value.microseconds, to: &key) }

  @inlinable
  public static func append(_ value: Bytes16, to key: inout ByteBuffer) {
    key.append(bigEndian: value.high)
    key.append(bigEndian: value.low)
  }

  /// Appends a string as the last part of a key.
  @inlinable
  public static func append(_ value: String, to key: inout ByteBuffer) { key.append(utf8: value) }

  /// Appends bytes as the last part of a key.
  @inlinable
  public static func append(_ value: UnsafeRawBufferPointer, to key: inout ByteBuffer) { unsafe key.append(value) }

  /// Appends the mark of nil, which stands before every value.
  @inlinable
  public static func appendNull(to key: inout ByteBuffer) { key.append(0 as UInt8) }

  /// Appends the mark that a value of an optional follows.
  @inlinable
  public static func appendPresent(to key: inout ByteBuffer) { key.append(1 as UInt8) }

  /// Appends bytes as a part of a key behind which another part follows: escaped and ended.
  public static func appendPart(_ value: UnsafeRawBufferPointer, to key: inout ByteBuffer) {
    key.reserve(value.count + 2)
    var rest = unsafe value
    while let zero = unsafe rest.firstIndex(of: 0) {
      unsafe key.append(UnsafeRawBufferPointer(rebasing: rest[..<zero]))
      key.append(bigEndian: 0x00FF as UInt16)
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest[(zero + 1)...])
    }
    unsafe key.append(rest)
    key.append(bigEndian: 0x0001 as UInt16)
  }

  /// Appends a string as a part of a key behind which another part follows.
  public static func appendPart(_ value: String, to key: inout ByteBuffer) {
    var value = value
    value.withUTF8 { unsafe appendPart(UnsafeRawBufferPointer($0), to: &key) }
  }
}
