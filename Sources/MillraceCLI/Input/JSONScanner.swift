/// Walks a JSON text (RFC 8259) strictly, byte by byte, and finds fields in it without building anything.
///
/// Time grows with the text alone; the stack with `maximumDepth` at most.
struct JSONScanner {
  /// Why a text is not JSON, and where.
  struct Fault: Error, Equatable, CustomStringConvertible {
    var message: String
    /// Bytes before the place.
    var position: Int

    var description: String { "\(message) at byte \(position + 1)" }
  }

  /// Lists and objects within each other.
  static let maximumDepth = 256

  private let bytes: [UInt8]
  private let paths: [[[UInt8]]]
  private var found: [Range<Int>?]
  private var position = 0

  private init(_ bytes: [UInt8], _ paths: [[String]]) {
    self.bytes = bytes
    self.paths = paths.map { $0.map { Array($0.utf8) } }
    found = Array(repeating: nil, count: paths.count)
  }

  /// Checks that `bytes` are one JSON value, and returns for each of `paths` where in them its value is; nil where
  /// there is none. Of members with the same name the last one counts. At most 64 paths.
  static func fields(_ paths: [[String]], in bytes: [UInt8]) throws(Fault) -> [Range<Int>?] {
    var scanner = JSONScanner(bytes, paths)
    scanner.skipSpace()
    try scanner.value(depth: 0, following: paths.indices.reduce(0) { $0 | 1 << UInt64($1) })
    scanner.skipSpace()
    if scanner.position < bytes.count { throw scanner.fault("nothing more was expected") }
    return scanner.found
  }

  private func fault(_ message: String) -> Fault {
    position >= bytes.count
      ? Fault(message: "the JSON ends early", position: bytes.count)
      : Fault(message: message, position: position)
  }

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard current == byte else { return false }
    position += 1
    return true
  }

  /// `following`: a bit for each path that has led here.
  private mutating func value(depth: Int, following: UInt64) throws(Fault) {
    if depth > Self.maximumDepth { throw fault("more than \(Self.maximumDepth) lists and objects within each other") }
    let start = position
    switch current {
    case UInt8(ascii: "{"): try object(depth, following)
    case UInt8(ascii: "["): try list(depth, following)
    case UInt8(ascii: "\""): _ = try string()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: try number()
    }
    if following == 0 { return }
    for index in paths.indices where following >> UInt64(index) & 1 == 1 && paths[index].count == depth {
      found[index] = start..<position
    }
  }

  private mutating func object(_ depth: Int, _ following: UInt64) throws(Fault) {
    position += 1
    skipSpace()
    if take(UInt8(ascii: "}")) { return }
    while true {
      let name = position
      guard current == UInt8(ascii: "\"") else { throw fault("a name in quotes was expected") }
      let isPlain = try string()
      let next = following == 0 ? 0 : narrowed(following, depth, Self.text(bytes[name..<position], isPlain: isPlain))
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw fault("':' was expected") }
      skipSpace()
      try value(depth: depth + 1, following: next)
      skipSpace()
      if take(UInt8(ascii: "}")) { return }
      guard take(UInt8(ascii: ",")) else { throw fault("',' or '}' was expected") }
      skipSpace()
    }
  }

  private mutating func list(_ depth: Int, _ following: UInt64) throws(Fault) {
    position += 1
    skipSpace()
    if take(UInt8(ascii: "]")) { return }
    var index = 0
    while true {
      let next = following == 0 ? 0 : narrowed(following, depth, Array(String(index).utf8))
      try value(depth: depth + 1, following: next)
      index += 1
      skipSpace()
      if take(UInt8(ascii: "]")) { return }
      guard take(UInt8(ascii: ",")) else { throw fault("',' or ']' was expected") }
      skipSpace()
    }
  }

  /// The paths that go on by `name`.
  private func narrowed(_ following: UInt64, _ depth: Int, _ name: [UInt8]) -> UInt64 {
    var rest: UInt64 = 0
    for index in paths.indices where following >> UInt64(index) & 1 == 1 {
      if paths[index].count > depth, paths[index][depth] == name { rest |= 1 << UInt64(index) }
    }
    return rest
  }

  private mutating func word(_ text: StaticString) throws(Fault) {
    let letters = Array(text.description.utf8)
    guard bytes.count - position >= letters.count, bytes[position..<position + letters.count].elementsEqual(letters)
    else { throw fault("a value was expected") }
    position += letters.count
  }

  private mutating func number() throws(Fault) {
    let start = position
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) {
      if try digits() == 0 { throw fault(position == start ? "a value was expected" : "a digit was expected") }
    }
    if take(UInt8(ascii: ".")), try digits() == 0 { throw fault("a digit was expected") }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      if try digits() == 0 { throw fault("a digit was expected") }
    }
  }

  private mutating func digits() throws(Fault) -> Int {
    let start = position
    while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
    return position - start
  }

  /// Steps over a string; returns whether it is without escapes.
  private mutating func string() throws(Fault) -> Bool {
    position += 1
    var isPlain = true
    while let byte = current {
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return isPlain
      case UInt8(ascii: "\\"):
        isPlain = false
        position += 1
        try escape()
      case 0..<0x20: throw fault("a control character in a string")
      default: position += 1
      }
    }
    throw fault("'\"' was expected")
  }

  private mutating func escape() throws(Fault) {
    guard let byte = current else { throw fault("") }
    if byte == UInt8(ascii: "u") {
      for offset in 1...4 {
        guard position + offset < bytes.count else {
          throw Fault(message: "the JSON ends early", position: bytes.count)
        }
        guard Self.hexDigit(bytes[position + offset]) != nil else {
          throw fault("four digits of base 16 were expected")
        }
      }
      position += 5
    } else if #""\/bfnrt"#.utf8.contains(byte) {
      position += 1
    } else {
      throw fault("an unknown escape")
    }
  }
}

extension JSONScanner {
  private static func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case 0x30...0x39: UInt32(byte) - 0x30
    case 0x41...0x46: UInt32(byte) - 0x37
    case 0x61...0x66: UInt32(byte) - 0x57
    default: nil
    }
  }

  /// The UTF-8 that a string literal (quotes included, checked before) means. A lone surrogate becomes U+FFFD.
  static func text(_ literal: ArraySlice<UInt8>, isPlain: Bool = false) -> [UInt8] {
    let inner = literal.dropFirst().dropLast()
    if isPlain || !inner.contains(UInt8(ascii: "\\")) { return Array(inner) }
    var text: [UInt8] = []
    var rest = inner
    func unit() -> UInt32 { rest.prefix(4).reduce(0) { $0 << 4 | (hexDigit($1) ?? 0) } }
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), let kind = rest.popFirst() else {
        text.append(byte)
        continue
      }
      switch kind {
      case UInt8(ascii: "b"): text.append(0x08)
      case UInt8(ascii: "f"): text.append(0x0C)
      case UInt8(ascii: "n"): text.append(0x0A)
      case UInt8(ascii: "r"): text.append(0x0D)
      case UInt8(ascii: "t"): text.append(0x09)
      case UInt8(ascii: "u"):
        var code = unit()
        rest = rest.dropFirst(4)
        if (0xD800..<0xDC00).contains(code), rest.starts(with: #"\u"#.utf8) {
          let high = rest
          rest = rest.dropFirst(2)
          let low = unit()
          if (0xDC00..<0xE000).contains(low) {
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            rest = rest.dropFirst(4)
          } else {
            rest = high
          }
        }
        let scalar = Unicode.Scalar(code) ?? "\u{FFFD}"
        text.append(contentsOf: String(Character(scalar)).utf8)
      default: text.append(kind)
      }
    }
    return text
  }
}
