/// What can go wrong in the example: what happened, where, and what to do about it.
///
/// The set of codes is open: a `switch` over them needs a default.
package struct AdsError: Error, Sendable {
  /// The kind of a failure.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String { case input, fileAccess, usage, oracle, reader }
    private let value: Value

    /// A file of the data set has a line that cannot be used.
    package static let badInput = Code(value: .input)
    /// A file cannot be opened or read.
    package static let fileAccess = Code(value: .fileAccess)
    /// The command line does not say what to do.
    package static let usage = Code(value: .usage)
    /// The store holds something else than the input says it must.
    package static let oracleFailed = Code(value: .oracle)
    /// A reader found rows that cannot belong to one checkpoint.
    package static let inconsistentSnapshot = Code(value: .reader)

    package var description: String { value.rawValue }
  }

  /// A place in an input file. Lines and columns count from 1; a column is a field, not a character.
  package struct Place: Hashable, Sendable, CustomStringConvertible {
    package var file: String
    package var line: Int?
    package var column: Int?
    package var field: String?

    package init(file: String, line: Int? = nil, column: Int? = nil, field: String? = nil) {
      self.file = file
      self.line = line
      self.column = column
      self.field = field
    }

    package var description: String {
      var text = file
      if let line { text += ", line \(line)" }
      if let column { text += ", column \(column)" }
      if let field { text += " (\(field))" }
      return text
    }
  }

  package var code: Code
  /// What happened, as a sentence without its full stop.
  package var what: String
  package var place: Place?
  /// What a person can do now.
  package var remedy: String
  package var cause: (any Error)?

  package init(
    _ code: Code, _ what: String, at place: Place? = nil, remedy: String, cause: (any Error)? = nil
  ) {
    self.code = code
    self.what = what
    self.place = place
    self.remedy = remedy
    self.cause = cause
  }

  /// Whether the same call can succeed later without anybody changing anything: never so here.
  package var isRetriable: Bool { false }
}

extension AdsError: CustomStringConvertible {
  package var description: String {
    var text = what
    if let place { text = "\(place): \(text)" }
    if let cause { text += " (\(cause))" }
    return "\(text). \(remedy)"
  }
}
