/// Sixteen bytes that identify something, as a UUID does; ordered bytewise.
///
/// Records has no Foundation in its hot paths, so this is its own type. A stored property of Foundation's `UUID` is
/// stored in the same way.
@frozen
public struct Bytes16: Hashable, Sendable, BitwiseCopyable {
  // Both are kept in memory order, so that the memory of the value is its bytes.
  @usableFromInline internal var first: UInt64
  @usableFromInline internal var second: UInt64

  /// From two numbers whose big-endian bytes follow one another.
  @inlinable
  public init(high: UInt64, low: UInt64) {
    first = high.bigEndian
    second = low.bigEndian
  }

  /// The first eight bytes as a big-endian number.
  @inlinable
  public var high: UInt64 { UInt64(bigEndian: first) }

  /// The last eight bytes as a big-endian number.
  @inlinable
  public var low: UInt64 { UInt64(bigEndian: second) }

  /// From sixteen bytes; `nil` for any other count.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    let halves = (bytes[..<8], bytes[8...])
    self.init(
      high: halves.0.reduce(0) { $0 << 8 | UInt64($1) }, low: halves.1.reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// Sixteen random bytes of `generator`.
  public static func random(using generator: inout some RandomNumberGenerator) -> Bytes16 {
    Bytes16(high: generator.next(), low: generator.next())
  }

  /// The sixteen bytes.
  public var array: [UInt8] {
    (0..<16).map { index in
      let half = index < 8 ? high : low
      return UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index % 8)))
    }
  }
}

extension Bytes16: Comparable {
  @inlinable
  public static func < (left: Bytes16, right: Bytes16) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

extension Bytes16: CustomStringConvertible {
  /// 32 hexadecimal digits in the groups of a UUID, in lower case.
  public var description: String {
    let digits = Array("0123456789abcdef")
    var text = ""
    for (index, byte) in array.enumerated() {
      if index == 4 || index == 6 || index == 8 || index == 10 { text += "-" }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return text
  }

  /// From 32 hexadecimal digits, with or without dashes; `nil` for anything else.
  public init?(_ text: String) {
    let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
    guard digits.count == 32 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 32, by: 2) {
      guard let value = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else { return nil }
      bytes.append(value)
    }
    self.init(bytes)
  }
}

extension Bytes16: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = Bytes16(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not 32 hexadecimal digits")
    }
    self = value
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
