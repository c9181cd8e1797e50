/// A text that is looked for in the names of categories, with A–Z and a–z taken for the same.
package struct CategoryMatch: Sendable, Hashable {
  /// The text in capitals: a category matches if its `searchText` contains these bytes.
  package let text: String

  package init(_ text: String) { self.text = Self.capitals(text) }

  package func matches(_ category: String) -> Bool {
    let (name, wanted) = (Array(Self.capitals(category).utf8), Array(text.utf8))
    guard name.count >= wanted.count else { return false }
    return (0...(name.count - wanted.count)).contains { name[$0...].starts(with: wanted) }
  }

  /// `text` with the small letters a–z as capitals; other letters stay as they are.
  package static func capitals(_ text: String) -> String {
    String(decoding: text.utf8.map { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") ? $0 - 32 : $0 }, as: UTF8.self)
  }
}
