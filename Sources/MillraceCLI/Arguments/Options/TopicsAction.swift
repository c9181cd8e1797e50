/// What `millrace topics` is to do.
enum TopicsAction: Equatable, Sendable {
  /// What to make of a directory where there is nothing yet.
  enum NewPlace: String, Equatable, Sendable, CaseIterable {
    case store
    case log
  }

  case list
  case describe(String)
  case create(String, TopicSettings, NewPlace?)
  case set(String, TopicSettings)
  case delete(String, isSure: Bool)
  /// With the live file sealed first, or without it.
  case compact(String, isSealing: Bool)
}

/// When appends are acknowledged.
enum DurabilityChoice: Equatable, Sendable {
  case synced
  case interval(Duration)
  case system
}

/// A topic's settings, as far as the command line names them.
struct TopicSettings: Equatable, Sendable {
  /// A limit that may be lifted.
  enum Limit<Value: Equatable & Sendable>: Equatable, Sendable {
    case none
    case at(Value)

    var value: Value? {
      switch self {
      case .none: nil
      case .at(let value): value
      }
    }
  }

  var partitions: Int?
  var segmentBytes: Int?
  var segmentAge: Limit<Duration>?
  var retentionBytes: Limit<Int>?
  var retentionAge: Limit<Duration>?
  var maximumRecordBytes: Int?
  var durability: DurabilityChoice?
  /// Whether the log gives the times, not the one who appends.
  var isTimedByLog: Bool?
  /// A level of zstd.
  var compressionLevel: Limit<Int>?
  var isCompacted: Bool?
  var tombstoneDelay: Duration?
  var compactionAge: Duration?
}
