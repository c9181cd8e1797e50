public import Bytes

/// Reads the parts of a key that ``KeyEncoding`` made, one after the other.
///
/// Nothing is believed of the bytes: what no value encodes to is refused with its offset. Valid only while the bytes
/// are.
@safe
public struct KeyReader {
  // Invariant: only bytes below `bytes.count` are read.
  private let bytes: UnsafeRawBufferPointer
  private let count: Int
  /// Bytes read so far.
  public private(set) var offset = 0

  public init(_ key: UnsafeRawBufferPointer) {
    unsafe bytes = unsafe key
    count = key.count
  }

  /// Whether the whole key has been read.
  public var isAtEnd: Bool { offset == count }

  /// - Throws: ``RecordsError`` with code `.malformed` if bytes are left.
  public func end() throws(RecordsError) {
    guard isAtEnd else { throw malformed("\(count - offset) bytes too many") }
  }

  private mutating func word() throws(RecordsError) -> UInt64 {
    guard count - offset >= 8 else { throw malformed("8 bytes wanted, \(count - offset) left") }
    defer { offset += 8 }
    return unsafe bytes.big(UInt64.self, at: offset)
  }

  private mutating func byte() throws(RecordsError) -> UInt8 {
    guard offset < count else { throw malformed("1 byte wanted, none left") }
    defer { offset += 1 }
    return unsafe bytes[offset]
  }

  /// A signed integer of any width, or a timestamp's microseconds.
  public mutating func nextInt64() throws(RecordsError) -> Int64 { Int64(bitPattern: try word() ^ (1 << 63)) }

  /// An unsigned integer of any width.
  public mutating func nextUInt64() throws(RecordsError) -> UInt64 { try word() }

  /// A floating-point number of either width.
  public mutating func nextDouble() throws(RecordsError) -> Double {
    let word = try word()
    let value = Double(bitPattern: word >> 63 == 1 ? word ^ (1 << 63) : ~word)
    guard KeyEncoding.ordered(value) == word else {
      offset -= 8
      throw malformed("a number that is not in its canonical form")
    }
    return value
  }

  public mutating func nextBool() throws(RecordsError) -> Bool {
    let byte = try byte()
    guard byte <= 1 else {
      offset -= 1
      throw malformed("\(byte) is neither false nor true")
    }
    return byte == 1
  }

  public mutating func nextTimestamp() throws(RecordsError) -> Timestamp { Timestamp(microseconds: try nextInt64()) }

  public mutating func nextBytes16() throws(RecordsError) -> Bytes16 {
    guard count - offset >= 16 else { throw malformed("16 bytes wanted, \(count - offset) left") }
    return Bytes16(high: try word(), low: try word())
  }

  /// Whether a value follows (true) or the part is nil.
  public mutating func nextIsPresent() throws(RecordsError) -> Bool { try nextBool() }

  /// All the bytes that are left: the last part of a key. Valid while the key's bytes are.
  @unsafe
  public mutating func rest() -> UnsafeRawBufferPointer {
    defer { offset = count }
    return unsafe bytes.slice(offset, count - offset)
  }

  /// Appends the bytes of a part behind which another part follows to `buffer`, without escapes.
  public mutating func nextPart(into buffer: inout ByteBuffer) throws(RecordsError) {
    while true {
      let byte = try byte()
      if byte != 0 {
        buffer.append(byte)
        continue
      }
      switch try self.byte() {
      case 0xFF: buffer.append(0 as UInt8)
      case 0x01: return
      default:
        offset -= 2
        throw malformed("a zero byte that neither ends nor is escaped")
      }
    }
  }

  /// A string: all the bytes that are left if it is the last part, else up to its end mark.
  public mutating func nextString(isLast: Bool) throws(RecordsError) -> String {
    let start = offset
    var text: String?
    if isLast {
      text = unsafe makeString(rest())
    } else {
      var buffer = ByteBuffer()
      try nextPart(into: &buffer)
      text = unsafe makeString(buffer.bytes)
    }
    guard let text else {
      offset = start
      throw malformed("a string that is not UTF-8")
    }
    return text
  }

  func malformed(_ reason: String) -> RecordsError {
    RecordsError(
      .malformed, offset: offset, "a key that nothing encodes to: \(reason)",
      advice: "the key is damaged, or of another type")
  }
}
