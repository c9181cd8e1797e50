/// What a command line asks for.
enum Invocation: Equatable, Sendable {
  /// A text to print; exit code 0.
  case help(String)
  case version
  case inspect(store: String, OutputFormat)
  case tail(store: String, topic: String, TailOptions, OutputFormat)
  case query(store: String, view: String, QueryOptions, OutputFormat)
  case verify(store: String, OutputFormat)
  case backup(store: String, target: String)
}

/// Which records `tail` shows.
struct TailOptions: Equatable, Sendable {
  enum Start: Equatable, Sendable {
    /// The last ten records of each partition.
    case lastTen
    case earliest
    case latest
    case offset(Int64)
  }

  var partition: Int?
  var start = Start.lastTen
  var limit: Int?
  var isFollowing = false
}

/// Which rows `query` shows.
struct QueryOptions: Equatable, Sendable {
  struct Order: Equatable, Sendable {
    var column: String
    var isDescending: Bool
  }

  var filter: FilterExpression?
  var order: [Order] = []
  var limit: Int?
  /// Nil for all.
  var columns: [String]?
}

/// How rows are written.
enum OutputFormat: Equatable, Sendable {
  case table
  case json
  case csv
}
