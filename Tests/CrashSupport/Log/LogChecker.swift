/// Compares what a log holds with what its users were told, as Jepsen does for brokers.
///
/// Pure: it knows no log, and is tested with histories and contents made by hand.
public struct LogChecker: Sendable {
  public struct Violation: Hashable, Sendable, CustomStringConvertible {
    public enum Kind: String, Sendable {
      /// An acknowledged record is not there, or a read one is not there any more.
      case missing, unread
      /// It is somewhere else than was acknowledged.
      case moved
      case duplicated
      /// One producer's records of a partition are not in its order; acknowledged before the other began, and behind
      /// it.
      case reordered, overtaken
      /// Of records that belong together some are there.
      case torn
      case wrongBytes
      /// Nobody wrote it, or the log had refused it.
      case phantom, refused
      /// Offsets without records, not reported as damaged.
      case gap
      /// Offsets do not rise, or lie outside of the partition's range.
      case disorder
      /// A reader was given something before what it was given earlier.
      case backwards
    }
    public var kind: Kind
    public var topic: String
    public var text: String

    public var description: String { "\(kind.rawValue) in \(topic): \(text)" }
  }

  private let workload: LogWorkload
  private let history: LogHistory
  private let contents: LogContents
  private let topics: [String: LogWorkload.Topic]
  /// Whether the machine crashed: topics that may lose their tail may have lost it.
  private let afterPowerLoss: Bool

  public static func check(
    _ workload: LogWorkload, _ history: LogHistory, _ contents: LogContents,
    topics: [LogWorkload.Topic] = LogWorkload.topics, afterPowerLoss: Bool = false
  ) -> [Violation] {
    LogChecker(
      workload: workload, history: history, contents: contents,
      topics: Dictionary(uniqueKeysWithValues: topics.map { ($0.name, $0) }), afterPowerLoss: afterPowerLoss
    ).violations()
  }

  private func violations() -> [Violation] {
    var found: [Violation] = []
    for (name, topic) in topics.sorted(by: { $0.key < $1.key }) {
      let partitions = contents.topics[name] ?? []
      let operations = history.operations.filter { $0.topic == name && $0.kind != .flush }
      let check = TopicCheck(
        workload: workload, topic: topic, operations: operations, partitions: partitions, afterPowerLoss: afterPowerLoss
      )
      found += check.violations()
      found += check.violations(of: history.readings.filter { $0.topic == name })
    }
    let known = Set(topics.keys)
    for operation in history.operations where operation.acknowledged != nil && !known.contains(operation.topic) {
      found.append(Violation(kind: .missing, topic: operation.topic, text: "the topic is not known"))
    }
    return found
  }
}
