/// Bytes in base 64 (RFC 4648, section 4), padded.
enum Base64Text {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func of(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let rest = bytes[index..<min(index + 3, bytes.count)]
      let word = rest.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - rest.count))
      for place in 0..<4 {
        text.append(place <= rest.count ? digits[word >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
      }
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }
}
