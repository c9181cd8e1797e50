import Millrace

/// The log as it is, without a codec. Each scenario has a file of its own in this folder.
enum LogScenarios {
  static let all: [Scenario] = [
    append, appendAwaiting, appendUnbatched, appendSingle, scan, scale, tail, tailElsewhere, keyed,
  ]

  /// The topic of a scenario, in a log of its own or, with `--folder`, in the one that an earlier run left there.
  static func topic(
    _ options: Scenario.Options, _ log: LogOptions = LogOptions(), partitions: Int? = nil
  ) throws -> LogTopic {
    let log = try EventLog.open(at: options.folder + "/log", log)
    return try log.topic("bench", try topicOptions(options, partitions: partitions))
  }

  /// `partitions=`, `segment-mb=` and `zstd=` (a level), as the command line says.
  static func topicOptions(_ options: Scenario.Options, partitions: Int? = nil) throws -> TopicOptions {
    TopicOptions(
      partitions: partitions ?? options.integer("partitions", 1),
      segmentBytes: options.integer("segment-mb", 1024) << 20,
      compression: options.settings["zstd"].flatMap(Int.init).map { .zstd(level: $0) } ?? .none)
  }
}
