import Millrace

/// `millrace topics`: shows, creates, changes and deletes topics.
struct TopicsCommand {
  let console: Console
  let format: OutputFormat

  func run(_ path: String, _ action: TopicsAction) throws -> Int32 {
    switch action {
    case .list:
      let place = try LogPlace.open(path, .reading)
      defer { place.close() }
      return try list(place)
    case .describe(let name):
      let place = try LogPlace.open(path, .reading)
      defer { place.close() }
      return try TopicDescriptionText(console: console, format: format).show(try place.topic(name))
    case .create(let name, let settings, let kind):
      let place = try openOrMake(path, kind)
      defer { place.close() }
      try create(name, settings, in: place)
    case .set(let name, let settings):
      let place = try LogPlace.open(path, .writing)
      defer { place.close() }
      _ = try place.topic(name)
      try place.log.setOptions(of: name) { settings.apply(to: &$0) }
      try report("changed", try place.log.topic(name).options, name)
    case .compact(let name, let isSealing):
      let place = try LogPlace.open(path, .writing)
      defer { place.close() }
      try CompactText(console: console, format: format).compact(try place.topic(name).log, isSealing: isSealing)
    case .delete(let name, let isSure):
      return try delete(name, isSure: isSure, path)
    }
    return ExitCode.success
  }

  // MARK: - Changing

  private func openOrMake(_ path: String, _ kind: TopicsAction.NewPlace?) throws -> LogPlace {
    do {
      return try LogPlace.open(path, kind.map { .creating($0) } ?? .writing)
    } catch var error as StoreError where error.code == .notFound && kind == nil {
      error.detail += ", or add '--init store' or '--init log' to make one there"
      throw error
    }
  }

  private func create(_ name: String, _ settings: TopicSettings, in place: LogPlace) throws {
    // The library's call returns an existing topic; who creates one wants a new one.
    if try place.log.topicNames().contains(name) {
      throw EventLogError(
        .topicExists, "there is such a topic already; 'millrace topics set' changes its settings", topic: name)
    }
    var options = TopicOptions()
    settings.apply(to: &options)
    try report("created", try place.log.topic(name, options).options, name)
  }

  private func report(_ done: String, _ options: TopicOptions, _ name: String) throws {
    guard format != .json else {
      let settings = TopicSetting.all(options).map { (name: $0.name, value: $0.value) }
      return try console.line(
        JSONText.of(.object([(name: "topic", value: .text(name)), (name: "settings", value: .object(settings))])))
    }
    let partitions = options.partitions == 1 ? "1 partition" : "\(HumanText.count(options.partitions)) partitions"
    try console.line("\(done) topic '\(name)' with \(partitions)")
  }

  private func delete(_ name: String, isSure: Bool, _ path: String) throws -> Int32 {
    guard isSure else {
      let place = try LogPlace.open(path, .reading)
      // A store closes its log when nobody holds it any more.
      defer { place.close() }
      let topic = try place.topic(name).log.describe()
      throw UsageError(
        message: "this deletes \(HumanText.count(Int(clamping: topic.records))) records, "
          + "\(HumanText.size(topic.bytes)), for ever; add '--yes' to do it", command: "topics delete")
    }
    let place = try LogPlace.open(path, .writing)
    defer { place.close() }
    let found = try place.topic(name).log.describe()
    try place.log.deleteTopic(name)
    try console.line(
      "deleted topic '\(name)' with \(HumanText.count(Int(clamping: found.records))) records, "
        + "\(HumanText.size(found.bytes))")
    return ExitCode.success
  }

  // MARK: - Showing

  private func list(_ place: LogPlace) throws -> Int32 {
    let topics = try place.log.describe()
    if format == .json {
      for topic in topics { try console.line(JSONText.of(TopicDescriptionText.summary(topic))) }
      return ExitCode.success
    }
    if topics.isEmpty {
      try console.line("No topics")
      return ExitCode.success
    }
    var table = TableText(["topic", "partitions", "records", "size", "files", "kept", "compression"])
    for topic in topics {
      table.append([
        .text(topic.name), .integer(Int64(topic.partitions.count)),
        .text(HumanText.count(Int(clamping: topic.records))),
        .text(HumanText.size(topic.bytes)), .integer(Int64(topic.segments.count)),
        .text(TopicSetting.kept(topic.options)), .text(TopicSetting.compression(topic.options.compression)),
      ])
    }
    for line in table.lines(width: console.width) { try console.line(line) }
    return ExitCode.success
  }
}
