import Testing

@testable import EventLog

/// A log with one topic, written to by tests of groups.
struct GroupFixture {
  let directory = TemporaryDirectory()
  let log: EventLog
  let topic: LogTopic

  init(partitions: Int = 1, _ options: LogOptions = LogOptions()) throws {
    log = try EventLog.open(at: directory.path, options)
    topic = try log.topic("events", TopicOptions(partitions: partitions))
  }

  /// `count` records numbered from `first` on, keyed by their number modulo `keys` if there are keys.
  func write(_ count: Int, from first: Int = 0, keys: Int? = nil) throws {
    try topic.appendBlocking(
      contentsOf: (first..<first + count).map { number in
        record("\(number)", key: keys.map { "key \(number % $0)" }, at: Int64(number))
      })
  }

  /// A member that ends at the end.
  func member(_ group: String = "group", _ change: (inout SubscriptionOptions) -> Void = { _ in }) throws
    -> Subscription
  {
    var options = SubscriptionOptions(tailing: false)
    change(&options)
    return try topic.subscribe(group: group, options)
  }
}

extension GroupRecord {
  var number: Int { Int(String(decoding: self.value, as: UTF8.self)) ?? -1 }
}

extension Subscription {
  /// The numbers of all records up to the end.
  func numbers() async throws -> [Int] {
    var numbers: [Int] = []
    for try await record in records() { numbers.append(record.number) }
    return numbers
  }
}

/// The log's error that `body` throws.
func failure(_ body: () async throws -> Void) async -> EventLogError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? EventLogError
  }
}
