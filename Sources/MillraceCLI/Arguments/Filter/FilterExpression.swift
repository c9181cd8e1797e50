/// A condition on the columns of a row, as given to `query --where`: names and literals only, no types of a store.
///
///     condition  = conjunction { "or" conjunction }
///     conjunction = negation { "and" negation }
///     negation   = "not" negation | "(" condition ")" | test
///     test       = column operator literal
///                | column "contains" | "starts with" | "ends with" literal
///                | column ["not"] "in" "(" literal { "," literal } ")"
///                | column "is" ["not"] "null"
///     operator   = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
///     column     = a name, or any text in `backquotes`
///     literal    = 7, -1.5e3, 1_000, "text", 'text', true, false, null
///
/// Words are read in any case. In a text a backslash or a doubling escapes its quote; \n, \t, \r and \\ work.
indirect enum FilterExpression: Equatable, Sendable {
  enum Comparison: String, Equatable, Sendable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
  }

  enum TextTest: String, Equatable, Sendable {
    case contains
    case startsWith = "starts with"
    case endsWith = "ends with"
  }

  enum Literal: Equatable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case decimal(Double)
    case text(String)
  }

  case compare(column: String, Comparison, Literal)
  case text(column: String, TextTest, String)
  case oneOf(column: String, [Literal])
  case isNull(column: String)
  case not(FilterExpression)
  case and(FilterExpression, FilterExpression)
  case or(FilterExpression, FilterExpression)

  /// The columns that it names, each once, in order of appearance.
  var columns: [String] {
    var found: [String] = []
    func visit(_ expression: FilterExpression) {
      switch expression {
      case .compare(let column, _, _), .text(let column, _, _), .oneOf(let column, _), .isNull(let column):
        if !found.contains(column) { found.append(column) }
      case .not(let inner): visit(inner)
      case .and(let left, let right), .or(let left, let right):
        visit(left)
        visit(right)
      }
    }
    visit(self)
    return found
  }
}

/// Where and why a filter cannot be understood.
struct FilterError: Error, Equatable, CustomStringConvertible {
  var message: String
  /// Characters before the place.
  var position: Int
  var filter: String

  /// The reason, then the filter with a mark under the place. Control characters are shown as spaces.
  var description: String {
    let line = String(filter.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    return "\(message)\n  \(line)\n  \(String(repeating: " ", count: position))^"
  }
}
