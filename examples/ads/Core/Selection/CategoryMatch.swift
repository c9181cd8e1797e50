/// Finds a text inside the names of categories, with A–Z and a–z taken for the same.
package struct CategoryMatch: Sendable {
  private let needle: [UInt8]

  package init(_ text: String) { needle = text.utf8.map(Self.folded) }

  package func matches(_ category: String) -> Bool {
    let text = category.utf8Span.span
    guard !needle.isEmpty else { return true }
    guard text.count >= needle.count else { return false }
    for start in 0...(text.count - needle.count) {
      var length = 0
      while length < needle.count, Self.folded(text[start + length]) == needle[length] { length += 1 }
      if length == needle.count { return true }
    }
    return false
  }

  private static func folded(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte + 32 : byte
  }
}
