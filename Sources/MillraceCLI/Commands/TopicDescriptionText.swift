import Millrace

/// Shows one topic: settings, partitions, files.
struct TopicDescriptionText {
  let console: Console
  let format: OutputFormat

  func show(_ topic: PlaceTopic) throws -> Int32 {
    let found = try topic.log.describe()
    let schemas = topic.untyped?.schemaDescriptions ?? []
    if format == .json {
      try console.line(JSONText.of(Self.object(found, schemas)))
    } else {
      try text(found, schemas)
    }
    let missing = found.segments.filter { $0.bytes == nil }
    for segment in missing {
      console.note("millrace: the file \(segment.path) is missing; restore it from a backup")
    }
    return missing.isEmpty ? ExitCode.success : ExitCode.failure
  }

  private func text(_ topic: TopicDescription, _ schemas: [String]) throws {
    try console.line("Topic \(topic.name) (id \(topic.id))")
    var lines = [
      ("records", HumanText.count(Int(clamping: topic.records))),
      ("size", "\(HumanText.size(topic.bytes)) in \(HumanText.counted(topic.segments.count, "file"))"),
    ]
    lines += TopicSetting.all(topic.options).map { ($0.name, $0.text) }
    for (index, schema) in schemas.enumerated() { lines.append(("schema \(index)", DisplayText(schema).text)) }
    let width = lines.map(\.0.count).max() ?? 0
    for (name, value) in lines {
      try console.line("  \(name)\(String(repeating: " ", count: width - name.count))  \(value)")
    }
    var partitions = TableText(["partition", "start", "end", "records"])
    for partition in topic.partitions {
      partitions.append([
        .integer(Int64(partition.partition)), .integer(partition.startOffset), .integer(partition.endOffset),
        .integer(partition.endOffset - partition.startOffset),
      ])
    }
    var files = TableText(["file", "state", "created", "size"])
    for segment in topic.segments {
      files.append([
        .integer(Int64(clamping: segment.number)), .text(segment.isSealed ? "sealed" : "live"),
        .text(TimeText.of(segment.createdAt)), .text(segment.bytes.map(HumanText.size) ?? "missing"),
      ])
    }
    for table in [partitions, files] {
      try console.line("")
      for line in table.lines(width: console.width) { try console.line(line) }
    }
  }

  // MARK: - JSON

  static func summary(_ topic: TopicDescription) -> OutputValue { .object(members(topic)) }

  private static func members(_ topic: TopicDescription) -> [(name: String, value: OutputValue)] {
    let settings = TopicSetting.all(topic.options).map { (name: $0.name, value: $0.value) }
    return [
      (name: "topic", value: .text(topic.name)), (name: "id", value: .unsigned(topic.id)),
      (name: "partitions", value: .integer(Int64(topic.partitions.count))),
      (name: "records", value: .integer(topic.records)), (name: "bytes", value: .integer(Int64(topic.bytes))),
      (name: "files", value: .integer(Int64(topic.segments.count))), (name: "settings", value: .object(settings)),
    ]
  }

  private static func object(_ topic: TopicDescription, _ schemas: [String]) -> OutputValue {
    let partitions = topic.partitions.map { OutputValue(describing: $0) }
    let files = topic.segments.map { segment in
      OutputValue.object([
        (name: "number", value: .unsigned(segment.number)), (name: "isSealed", value: .boolean(segment.isSealed)),
        (name: "createdAt", value: .text(TimeText.of(segment.createdAt))),
        (name: "bytes", value: segment.bytes.map { .integer(Int64($0)) } ?? .null),
        (name: "path", value: .text(segment.path)),
      ])
    }
    return .object(
      members(topic) + [
        (name: "schemas", value: .list(schemas.map { .text($0) })), (name: "offsets", value: .list(partitions)),
        (name: "segments", value: .list(files)),
      ])
  }
}
