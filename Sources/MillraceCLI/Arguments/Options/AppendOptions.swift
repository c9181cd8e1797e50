/// How `millrace append` makes records of lines.
struct AppendOptions: Equatable, Sendable {
  enum Input: String, Equatable, Sendable, CaseIterable {
    case text
    case json
  }

  enum Key: Equatable, Sendable {
    case none
    /// A field of the JSON, outermost name first.
    case field([String])
    /// What stands before this text in the line; the value is what stands behind it.
    case before(String)
  }

  /// How a key is turned into bytes.
  enum KeyType: String, Equatable, Sendable, CaseIterable {
    case text
    /// Eight bytes that sort as numbers: the key that typed topics make of a signed integer.
    case integer
  }

  enum TimeUnit: String, Equatable, Sendable, CaseIterable {
    case seconds = "s"
    case milliseconds = "ms"
    case microseconds = "us"
  }

  enum ErrorPolicy: String, Equatable, Sendable, CaseIterable {
    case fail
    case skip
  }

  struct Header: Equatable, Sendable {
    var name: String
    var value: String
  }

  var input = Input.text
  var key = Key.none
  var keyType = KeyType.text
  /// Nil for the time of appending.
  var timestampField: [String]?
  var timestampUnit = TimeUnit.microseconds
  var headers: [Header] = []
  var partition: Int?
  /// Records per commit, at most.
  var batch = 10_000
  var errorPolicy = ErrorPolicy.fail
}
