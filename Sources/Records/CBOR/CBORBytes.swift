/// CBOR items, appended (RFC 8949, section 3): a byte of major type and short argument, a longer argument in 1, 2, 4
/// or 8 bytes, big-endian and the shortest that holds it, and the contents.
struct CBORBytes {
  enum Major: UInt8 {
    case unsigned = 0
    case negative = 1
    case bytes = 2
    case text = 3
    case array = 4
    case map = 5
    case tag = 6
    case simple = 7
  }

  private(set) var bytes: [UInt8] = []

  mutating func append(_ major: Major, _ argument: UInt64) {
    let high = major.rawValue << 5
    switch argument {
    case ..<24: bytes.append(high | UInt8(truncatingIfNeeded: argument))
    case ...0xFF: append(high | 24, argument, width: 1)
    case ...0xFFFF: append(high | 25, argument, width: 2)
    case ...0xFFFF_FFFF: append(high | 26, argument, width: 4)
    default: append(high | 27, argument, width: 8)
    }
  }

  mutating func append(simple value: UInt8) { bytes.append(Major.simple.rawValue << 5 | value) }
  mutating func appendNull() { append(simple: 22) }
  mutating func append(float32 bits: UInt32) { append(0xFA, UInt64(bits), width: 4) }
  mutating func append(float64 bits: UInt64) { append(0xFB, bits, width: 8) }

  mutating func append(text: String) {
    append(.text, UInt64(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(contentsOf more: [UInt8]) { bytes.append(contentsOf: more) }
  mutating func append(contentsOf more: ArraySlice<UInt8>) { bytes.append(contentsOf: more) }

  private mutating func append(_ first: UInt8, _ argument: UInt64, width: Int) {
    bytes.append(first)
    for index in 0..<width { bytes.append(UInt8(truncatingIfNeeded: argument >> UInt64(8 * (width - 1 - index)))) }
  }
}
