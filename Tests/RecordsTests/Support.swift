import Bytes
import Records

/// SplitMix64 (Steele, Lea, Flood 2014): a generator whose seed can be printed and given again.
struct SeededRandom: RandomNumberGenerator {
  let seed: UInt64
  private var state: UInt64

  init(seed: UInt64 = .random(in: 0 ... .max)) {
    self.seed = seed
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func flip() -> Bool { next() & 1 == 0 }

  mutating func any<T: FixedWidthInteger>() -> T { T(truncatingIfNeeded: next()) }

  mutating func maybe<T>(_ make: (inout SeededRandom) -> T) -> T? { flip() ? make(&self) : nil }

  mutating func list<T>(_ make: (inout SeededRandom) -> T) -> [T] {
    (0..<Int.random(in: 0...3, using: &self)).map { _ in make(&self) }
  }

  mutating func string() -> String {
    let alphabet = ["a", "é", "e\u{301}", "🙂", "\0", "z", "Ω"]
    var text = ""
    for _ in 0..<Int.random(in: 0...12, using: &self) { text += alphabet.randomElement(using: &self) ?? "" }
    return text
  }

  mutating func bytes() -> [UInt8] {
    let count = Int.random(in: 0...20, using: &self)
    return (0..<count).map { _ in any() }
  }
}

enum Kind: String, Codable, Sendable, CaseIterable {
  case impression, click
  case purchase = "buy"
}
enum Level: Int16, Codable, Sendable, CaseIterable {
  case low = -1
  case high = 300
}

struct Everything: Record, Equatable {
  var flag: Bool
  var i8: Int8
  var i16: Int16
  var i32: Int32
  var i64: Int64
  var int: Int
  var u8: UInt8
  var u16: UInt16
  var u32: UInt32
  var u64: UInt64
  var uint: UInt
  var float: Float
  var double: Double
  var text: String
  var blob: [UInt8]
  var at: Timestamp
  var id: Bytes16
  var kind: Kind
  var level: Level
  var words: [String]
  var numbers: [Int32]
  var flags: [Bool]
  var maybeFlag: Bool?
  var maybeI8: Int8?
  var maybeI16: Int16?
  var maybeI32: Int32?
  var maybeI64: Int64?
  var maybeU64: UInt64?
  var maybeFloat: Float?
  var maybeDouble: Double?
  var maybeText: String?
  var maybeBlob: [UInt8]?
  var maybeAt: Timestamp?
  var maybeID: Bytes16?
  var maybeKind: Kind?
  var maybeLevel: Level?
  var maybeWords: [String]?
  var maybeNumbers: [Double]?

  static func random(_ r: inout SeededRandom) -> Everything {
    Everything(
      flag: r.flip(), i8: r.any(), i16: r.any(), i32: r.any(), i64: r.any(), int: r.any(), u8: r.any(), u16: r.any(),
      u32: r.any(), u64: r.any(), uint: r.any(), float: .random(in: -1...1, using: &r),
      double: .random(in: -1e9...1e9, using: &r), text: r.string(), blob: r.bytes(),
      at: Timestamp(microseconds: r.any()), id: .random(using: &r),
      kind: Kind.allCases.randomElement(using: &r) ?? .click,
      level: r.flip() ? .low : .high, words: r.list { $0.string() }, numbers: r.list { $0.any() },
      flags: r.list { $0.flip() }, maybeFlag: r.maybe { $0.flip() }, maybeI8: r.maybe { $0.any() },
      maybeI16: r.maybe { $0.any() }, maybeI32: r.maybe { $0.any() }, maybeI64: r.maybe { $0.any() },
      maybeU64: r.maybe { $0.any() }, maybeFloat: r.maybe { .random(in: -1...1, using: &$0) },
      maybeDouble: r.maybe { .random(in: -1...1, using: &$0) }, maybeText: r.maybe { $0.string() },
      maybeBlob: r.maybe { $0.bytes() }, maybeAt: r.maybe { Timestamp(microseconds: $0.any()) },
      maybeID: r.maybe { .random(using: &$0) }, maybeKind: r.maybe { $0.flip() ? .click : .purchase },
      maybeLevel: r.maybe { $0.flip() ? .low : .high }, maybeWords: r.maybe { $0.list { $0.string() } },
      maybeNumbers: r.maybe { $0.list { .random(in: -1...1, using: &$0) } })
  }
}
