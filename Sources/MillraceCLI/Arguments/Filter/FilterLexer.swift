/// A part of a filter, and where it begins.
struct FilterToken: Equatable {
  enum Kind: Equatable {
    /// A name or a word of the language, which is told apart by where it stands.
    case word(String)
    case quotedName(String)
    case integer(Int64)
    case decimal(Double)
    case text(String)
    case symbol(String)
    case end
  }

  var kind: Kind
  var position: Int
}

/// Cuts a filter into tokens.
struct FilterLexer {
  private let source: String
  private let characters: [Character]
  private var position = 0

  private init(_ source: String) {
    self.source = source
    self.characters = Array(source)
  }

  /// The tokens of `source`; the last is `end`.
  static func tokens(of source: String) throws(FilterError) -> [FilterToken] {
    var lexer = FilterLexer(source)
    var tokens: [FilterToken] = []
    repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
    return tokens
  }

  private var current: Character? { position < characters.count ? characters[position] : nil }

  private func wrong(_ message: String, at position: Int) -> FilterError {
    FilterError(message: message, position: position, filter: source)
  }

  private mutating func next() throws(FilterError) -> FilterToken {
    while let character = current, character.isWhitespace { position += 1 }
    let start = position
    guard let character = current else { return FilterToken(kind: .end, position: start) }
    let kind: FilterToken.Kind
    if character.isLetter || character == "_" {
      kind = .word(take { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." })
    } else if Self.isDigit(character) || character == "-" || character == "+" || character == "." {
      kind = try number()
    } else if character == "\"" || character == "'" || character == "`" {
      let text = try quoted(by: character)
      kind = character == "`" ? .quotedName(text) : .text(text)
    } else {
      kind = .symbol(try symbol(character))
    }
    return FilterToken(kind: kind, position: start)
  }

  private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }

  private mutating func take(while belongs: (Character) -> Bool) -> String {
    let start = position
    while let character = current, belongs(character) { position += 1 }
    return String(characters[start..<position])
  }

  private mutating func symbol(_ character: Character) throws(FilterError) -> String {
    let two = String(characters[position..<min(position + 2, characters.count)])
    for symbol in ["==", "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ","] where two.hasPrefix(symbol) {
      position += symbol.count
      return symbol
    }
    throw wrong("'\(character)' has no meaning here", at: position)
  }

  private mutating func number() throws(FilterError) -> FilterToken.Kind {
    let start = position
    var last: Character = " "
    // A sign belongs to the number at its beginning and after an exponent's letter only.
    let written = take { character in
      let isSign = (character == "-" || character == "+") && (last == " " || last == "e" || last == "E")
      defer { last = character }
      return isSign || character.isLetter || character.isNumber || character == "." || character == "_"
    }
    let digits = written.filter { $0 != "_" }
    if let integer = Int64(digits) { return .integer(integer) }
    let isDecimal =
      digits.allSatisfy { Self.isDigit($0) || ".eE+-".contains($0) } && digits.contains(where: Self.isDigit)
    guard isDecimal, let decimal = Double(digits), decimal.isFinite else {
      throw wrong("'\(written)' is no number", at: start)
    }
    return .decimal(decimal)
  }

  private mutating func quoted(by quote: Character) throws(FilterError) -> String {
    let start = position
    var text = ""
    position += 1
    while let character = current {
      position += 1
      if character == quote {
        if current != quote { return text }
        position += 1
        text.append(quote)
      } else if character == "\\", quote != "`" {
        text.append(try escaped())
      } else {
        text.append(character)
      }
    }
    throw wrong("the closing \(quote) is missing", at: start)
  }

  private mutating func escaped() throws(FilterError) -> Character {
    let known: [Character: Character] = ["n": "\n", "t": "\t", "r": "\r", "\\": "\\", "\"": "\"", "'": "'"]
    guard let letter = current, let character = known[letter] else {
      throw wrong("a backslash must be followed by n, t, r, a quote or another backslash", at: position - 1)
    }
    position += 1
    return character
  }
}
