/// What a command line asks for.
enum Invocation: Equatable, Sendable {
  /// A text to print; exit code 0.
  case help(String)
  case version
  case inspect(store: String, OutputFormat)
  case tail(place: String, topic: String, TailOptions, OutputFormat)
  case query(store: String, view: String, QueryOptions, OutputFormat)
  case verify(store: String, OutputFormat)
  case backup(store: String, target: String)
  case topics(place: String, TopicsAction, OutputFormat)
  case groups(place: String, GroupsAction, OutputFormat)
  case append(place: String, topic: String, AppendOptions, OutputFormat)
  case export(place: String, topic: String, ExportOptions)
}

/// Where in a partition to begin or to end.
enum RecordPosition: Equatable, Sendable {
  case earliest
  case latest
  case offset(Int64)
  /// The first record of this time or later, in microseconds since 1970.
  case time(Int64)
}

/// Which records `tail` shows.
struct TailOptions: Equatable, Sendable {
  var partition: Int?
  /// Nil for the last ten records of each partition.
  var start: RecordPosition?
  var limit: Int?
  var isFollowing = false
  /// The consumer group that goes on where it left off; `start` is for one that has not begun.
  var group: String?
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
