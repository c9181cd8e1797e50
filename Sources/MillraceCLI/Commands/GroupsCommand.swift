import Millrace

/// `millrace groups`: shows, moves and forgets consumer groups. Their offsets are in files of their own, so that all of
/// it works beside the one who writes the log.
struct GroupsCommand {
  let console: Console
  let format: OutputFormat

  func run(_ place: LogPlace, _ action: GroupsAction) throws -> Int32 {
    defer { place.close() }
    switch action {
    case .list: try list(try place.log.groups())
    case .describe(let name): try describe(try group(name, place))
    case .reset(let name, let topic, let position):
      _ = try place.topic(topic)
      try place.log.resetGroup(name, topic: topic, to: StartPosition(position))
      try describe(try place.log.group(name), topic: topic)
    case .delete(let name, let isSure):
      let found = try group(name, place)
      guard isSure else {
        throw UsageError(
          message: "this forgets where group '\(name)' is in \(HumanText.counted(found.topics.count, "topic")); "
            + "add '--yes' to do it", command: "groups delete")
      }
      try place.log.deleteGroup(name)
      try console.line("deleted group '\(name)'")
    }
    return ExitCode.success
  }

  private func group(_ name: String, _ place: LogPlace) throws -> GroupDescription {
    let found = Result { () throws(EventLogError) in try place.log.group(name) }
    if case .failure(let error) = found, error.code == .unknownGroup {
      throw NameError(kind: "group", name: name, known: try place.log.groups().map(\.name), store: place.path)
    }
    return try found.get()
  }

  // MARK: - Showing

  private func list(_ groups: [GroupDescription]) throws {
    if format == .json {
      for group in groups { try console.line(JSONText.of(Self.object(group))) }
      return
    }
    if groups.isEmpty { return try console.line("No groups") }
    var table = TableText(["group", "topic", "lag", "last commit", "held by"])
    for group in groups {
      if group.topics.isEmpty { table.append([.text(group.name), .null, .null, .null, .text(Self.holder(group))]) }
      for topic in group.topics {
        let last = topic.partitions.compactMap(\.committedAt).max()
        table.append([
          .text(group.name), .text(topic.name), .integer(topic.lag), .text(last.map(TimeText.of) ?? "never"),
          .text(Self.holder(group)),
        ])
      }
    }
    for line in table.lines(width: console.width) { try console.line(line) }
  }

  private func describe(_ group: GroupDescription, topic only: String? = nil) throws {
    if format == .json { return try console.line(JSONText.of(Self.object(group))) }
    try console.line(
      "Group \(group.name), held by \(Self.holder(group)), \(HumanText.counted(Int(group.lag), "record")) behind")
    var table = TableText([
      "topic", "partition", "committed", "start", "end", "lag", "finished ahead", "last commit", "member",
    ])
    for topic in group.topics where only == nil || topic.name == only {
      for partition in topic.partitions {
        table.append([
          .text(topic.name), .integer(Int64(partition.partition)),
          partition.committed.map { .integer($0) } ?? .text("none"),
          .integer(partition.startOffset), .integer(partition.endOffset), .integer(partition.lag),
          .integer(partition.finished.count), .text(partition.committedAt.map(TimeText.of) ?? "never"),
          .text(partition.member ?? ""),
        ])
      }
    }
    for line in table.lines(width: console.width) { try console.line(line) }
  }

  /// The process that has members of the group.
  private static func holder(_ group: GroupDescription) -> String {
    switch group.holder {
    case nil: "nobody"
    case 0: "a process"
    case let number?: "process \(number)"
    }
  }

  private static func object(_ group: GroupDescription) -> OutputValue {
    let topics = group.topics.map { topic in
      OutputValue.object([
        (name: "topic", value: .text(topic.name)), (name: "lag", value: .integer(topic.lag)),
        (name: "partitions", value: .list(topic.partitions.map(partition))),
      ])
    }
    return .object([
      (name: "group", value: .text(group.name)),
      (name: "holder", value: group.holder.map { .integer(Int64($0)) } ?? .null),
      (name: "lag", value: .integer(group.lag)), (name: "topics", value: .list(topics)),
    ])
  }

  private static func partition(_ partition: GroupDescription.Partition) -> OutputValue {
    .object([
      (name: "partition", value: .integer(Int64(partition.partition))),
      (name: "committed", value: partition.committed.map { .integer($0) } ?? .null),
      (name: "committedAt", value: partition.committedAt.map { .text(TimeText.of($0)) } ?? .null),
      (name: "startOffset", value: .integer(partition.startOffset)),
      (name: "endOffset", value: .integer(partition.endOffset)), (name: "lag", value: .integer(partition.lag)),
      (
        name: "finished",
        value: .list(
          partition.finished.ranges.map { .list([.integer($0.lowerBound), .integer($0.upperBound)]) })
      ),
      (name: "member", value: partition.member.map { .text($0) } ?? .null),
    ])
  }
}

extension StartPosition {
  init(_ position: RecordPosition) {
    self =
      switch position {
      case .earliest: .earliest
      case .latest: .latest
      case .offset(let offset): .offset(offset)
      case .time(let time): .time(Timestamp(microseconds: time))
      }
  }
}
