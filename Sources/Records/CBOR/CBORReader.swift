/// CBOR items, read from bytes of which nothing is believed.
///
/// Reads what this module writes: definite lengths, text keys, no tags.
struct CBORReader {
  /// What stands at the beginning of an item.
  struct Head {
    let major: CBORBytes.Major
    /// The value, count or bits.
    let argument: UInt64
    /// Bytes of the argument behind the first byte; 0 if it is within it.
    let width: Int
    /// Where the contents begin.
    let next: Int
  }

  /// The deepest nesting that is read, so that no bytes exhaust the stack.
  static let maximumDepth = 128

  let bytes: [UInt8]

  func head(at offset: Int) throws(RecordsError) -> Head {
    guard offset < bytes.count else { throw malformed("the data ends early", at: offset) }
    let first = bytes[offset]
    let low = first & 31
    guard let major = CBORBytes.Major(rawValue: first >> 5), major != .tag, low < 28 else {
      throw malformed("an item of a kind that is never written (first byte \(first))", at: offset)
    }
    if low < 24 { return Head(major: major, argument: UInt64(low), width: 0, next: offset + 1) }
    let width = 1 << Int(low - 24)
    guard width < bytes.count - offset else { throw malformed("the data ends early", at: bytes.count) }
    let argument = bytes[(offset + 1)...(offset + width)].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    return Head(major: major, argument: argument, width: width, next: offset + 1 + width)
  }

  /// The bytes of a string.
  func contents(of head: Head, at offset: Int) throws(RecordsError) -> Range<Int> {
    guard head.argument <= UInt64(bytes.count - head.next) else {
      throw malformed("\(head.argument) bytes announced, \(bytes.count - head.next) left", at: offset)
    }
    return head.next..<head.next + Int(head.argument)
  }

  /// The number of elements of an array or entries of a map: no more than bytes are left.
  func count(of head: Head, at offset: Int) throws(RecordsError) -> Int {
    let least: UInt64 = head.major == .map ? 2 : 1
    guard head.argument <= UInt64(bytes.count - head.next) / least else {
      throw malformed("\(head.argument) elements announced, \(bytes.count - head.next) bytes left", at: offset)
    }
    return Int(head.argument)
  }

  func isNull(at offset: Int) throws(RecordsError) -> Bool {
    let head = try head(at: offset)
    return head.major == .simple && head.width == 0 && head.argument == 22
  }

  /// Where the item at `offset` ends.
  func end(of offset: Int, depth: Int) throws(RecordsError) -> Int {
    guard depth <= Self.maximumDepth else { throw tooDeep(at: offset) }
    let head = try head(at: offset)
    switch head.major {
    case .bytes, .text: return try contents(of: head, at: offset).upperBound
    case .array, .map:
      var next = head.next
      for _ in 0..<(try count(of: head, at: offset) * (head.major == .map ? 2 : 1)) {
        next = try end(of: next, depth: depth + 1)
      }
      return next
    default: return head.next
    }
  }

  func malformed(_ reason: String, at offset: Int) -> RecordsError {
    RecordsError(.malformed, offset: offset, reason, advice: "the data is cut short or damaged")
  }

  func mismatch(_ wanted: String, at offset: Int) -> RecordsError {
    RecordsError(
      .malformed, offset: offset, "\(wanted) expected, another kind of item found",
      advice: "the property's type has changed since, or the data is damaged")
  }

  func tooDeep(at offset: Int) -> RecordsError {
    malformed("nested deeper than \(Self.maximumDepth) levels", at: offset)
  }
}
