extension FilterExpression {
  /// The condition that `source` writes down.
  init(parsing source: String) throws(FilterError) {
    var parser = FilterParser(source: source, tokens: try FilterLexer.tokens(of: source))
    self = try parser.whole()
  }
}

/// Reads a filter by recursive descent.
private struct FilterParser {
  /// Parentheses and nots within each other, so that no input exhausts the stack.
  private static let maximumDepth = 100
  /// Tests in all: `and` and `or` nest to the left, and whoever walks the tree recurses as deep.
  private static let maximumTests = 1000
  private static let words = ["and", "or", "not", "in", "is", "null", "contains", "starts", "ends", "with"]

  let source: String
  let tokens: [FilterToken]
  private var index = 0
  private var depth = 0
  private var tests = 0

  init(source: String, tokens: [FilterToken]) {
    self.source = source
    self.tokens = tokens
  }

  /// The lexer ends every list with `end`, which is never stepped over.
  private var current: FilterToken { tokens[index] }

  private mutating func advance() { index = min(index + 1, tokens.count - 1) }

  private func wrong(_ message: String) -> FilterError {
    FilterError(message: message, position: current.position, filter: source)
  }

  private mutating func take(word: String) -> Bool {
    guard case .word(let found) = current.kind, found.lowercased() == word else { return false }
    advance()
    return true
  }

  private mutating func take(symbol: String) -> Bool {
    guard current.kind == .symbol(symbol) else { return false }
    advance()
    return true
  }

  mutating func whole() throws(FilterError) -> FilterExpression {
    if current.kind == .end { throw wrong("the filter is empty") }
    let expression = try condition()
    guard current.kind == .end else { throw wrong("'and', 'or' or the end was expected") }
    return expression
  }

  private mutating func condition() throws(FilterError) -> FilterExpression {
    var expression = try conjunction()
    while take(word: "or") { expression = .or(expression, try conjunction()) }
    return expression
  }

  private mutating func conjunction() throws(FilterError) -> FilterExpression {
    var expression = try negation()
    while take(word: "and") { expression = .and(expression, try negation()) }
    return expression
  }

  private mutating func negation() throws(FilterError) -> FilterExpression {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.maximumDepth { throw wrong("more than \(Self.maximumDepth) parentheses within each other") }
    if take(word: "not") { return .not(try negation()) }
    if take(symbol: "(") {
      let expression = try condition()
      guard take(symbol: ")") else { throw wrong("')' was expected") }
      return expression
    }
    return try test()
  }

  private mutating func test() throws(FilterError) -> FilterExpression {
    tests += 1
    if tests > Self.maximumTests { throw wrong("more than \(Self.maximumTests) tests") }
    let column = try columnName()
    if take(word: "is") {
      let isNegated = take(word: "not")
      guard take(word: "null") else { throw wrong("'null' was expected after 'is'") }
      return isNegated ? .not(.isNull(column: column)) : .isNull(column: column)
    }
    if take(word: "not") {
      guard take(word: "in") else { throw wrong("'in' was expected after 'not'") }
      return .not(.oneOf(column: column, try list()))
    }
    if take(word: "in") { return .oneOf(column: column, try list()) }
    if let test = try textTest() {
      guard case .text(let text) = current.kind else { throw wrong("a text in quotes was expected") }
      advance()
      return .text(column: column, test, text)
    }
    let comparison = try comparisonOperator()
    let literal = try self.literal()
    // Two-valued, as everywhere: nil equals nil.
    switch (comparison, literal) {
    case (.equal, .null): return .isNull(column: column)
    case (.notEqual, .null): return .not(.isNull(column: column))
    default: return .compare(column: column, comparison, literal)
    }
  }

  private mutating func columnName() throws(FilterError) -> String {
    switch current.kind {
    case .quotedName(let name) where !name.isEmpty:
      advance()
      return name
    case .word(let name) where !Self.words.contains(name.lowercased()):
      advance()
      return name
    case .text: throw wrong("a column was expected; a name in need of quotes takes `backquotes`")
    default: throw wrong("a column was expected")
    }
  }

  private mutating func textTest() throws(FilterError) -> FilterExpression.TextTest? {
    if take(word: "contains") { return .contains }
    for (word, test) in [("starts", FilterExpression.TextTest.startsWith), ("ends", .endsWith)] where take(word: word) {
      guard take(word: "with") else { throw wrong("'with' was expected after '\(word)'") }
      return test
    }
    return nil
  }

  private mutating func comparisonOperator() throws(FilterError) -> FilterExpression.Comparison {
    if case .symbol(let symbol) = current.kind {
      let spelled = ["==": "=", "<>": "!="][symbol] ?? symbol
      if let comparison = FilterExpression.Comparison(rawValue: spelled) {
        advance()
        return comparison
      }
    }
    if case .word(let word) = current.kind {
      let known = ["contains", "starts with", "ends with", "in", "is null", "is not null", "not in"]
      throw wrong("'\(word)' is no operator\(Suggestion.text(for: word, among: known))")
    }
    throw wrong("an operator was expected: =, !=, <, <=, >, >=, contains, starts with, ends with, in, is null")
  }

  private mutating func list() throws(FilterError) -> [FilterExpression.Literal] {
    guard take(symbol: "(") else { throw wrong("'(' was expected after 'in'") }
    var literals = [try literal()]
    while take(symbol: ",") { literals.append(try literal()) }
    guard take(symbol: ")") else { throw wrong("',' or ')' was expected") }
    return literals
  }

  private mutating func literal() throws(FilterError) -> FilterExpression.Literal {
    let literal: FilterExpression.Literal
    switch current.kind {
    case .integer(let number): literal = .integer(number)
    case .decimal(let number): literal = .decimal(number)
    case .text(let text): literal = .text(text)
    case .word(let word):
      switch word.lowercased() {
      case "true": literal = .boolean(true)
      case "false": literal = .boolean(false)
      case "null", "nil": literal = .null
      default: throw wrong("a value was expected; a text needs quotes: \"\(word)\"")
      }
    default: throw wrong("a value was expected: a number, a text in quotes, true, false or null")
    }
    advance()
    return literal
  }
}
