import Millrace

/// `millrace tail`: records of a topic in the order of their arrival.
struct TailCommand {
  /// How many records of each partition are shown unless told where to begin.
  static let lastRecords: Int64 = 10

  let console: Console
  let options: TailOptions
  let format: OutputFormat

  func run(_ store: Store, _ name: String) throws -> Int32 {
    let names = try store.topicNames()
    guard names.contains(name) else { throw NameError(kind: "topic", name: name, known: names, store: store.path) }
    var topic = try store.untypedTopic(name)
    let ranges = try self.ranges(topic.log)
    let reader = try topic.log.reader(from: ranges.mapValues(\.lowerBound), damage: .skip)
    var shown = 0
    var noted = 0
    while true {
      let read = try reader.read { batch in
        // Without following, what comes while we write is not waited for.
        let end = options.isFollowing ? .max : ranges[batch.partition]?.upperBound ?? 0
        for record in batch where record.offset < end {
          if let limit = options.limit, shown >= limit { break }
          try show(record, batch.partition, &topic)
          shown += 1
        }
      }
      for damage in reader.skipped.dropFirst(noted) { console.note("millrace: skipped \(damage)") }
      noted = reader.skipped.count
      if let limit = options.limit, shown >= limit { break }
      if isAtEnd(reader, ranges, read: read) {
        if !options.isFollowing { break }
        try console.flush()
        if console.isStopped() { break }
        _ = try reader.wait(timeout: .milliseconds(200))
      }
    }
    return noted == 0 ? ExitCode.success : ExitCode.failure
  }

  private func isAtEnd(_ reader: LogReader, _ ranges: [Int: Range<Int64>], read: Int) -> Bool {
    if read == 0 { return true }
    if options.isFollowing { return false }
    return ranges.allSatisfy { (reader.position($0.key) ?? .max) >= $0.value.upperBound }
  }

  /// Per partition where to begin, and where it ends now.
  private func ranges(_ topic: LogTopic) throws -> [Int: Range<Int64>] {
    let offsets = try topic.offsets()
    if let partition = options.partition, partition >= offsets.count {
      throw UsageError(
        message: "topic '\(topic.name)' has the partitions 0 to \(offsets.count - 1), not \(partition)",
        command: "tail")
    }
    var ranges: [Int: Range<Int64>] = [:]
    for (partition, range) in offsets.enumerated() where options.partition == nil || options.partition == partition {
      let start: Int64
      switch options.start {
      case .lastTen: start = max(range.lowerBound, range.upperBound - Self.lastRecords)
      case .earliest: start = range.lowerBound
      case .latest: start = range.upperBound
      case .offset(let offset):
        // One offset for several partitions: each begins as near to it as it can.
        if offsets.count == 1 || options.partition != nil, offset < range.lowerBound || offset > range.upperBound {
          throw UsageError(
            message: "offset \(offset) is not in partition \(partition) of '\(topic.name)', which holds "
              + "\(range.lowerBound) to \(range.upperBound - 1); the next will be \(range.upperBound)",
            command: "tail")
        }
        start = min(max(offset, range.lowerBound), range.upperBound)
      }
      ranges[partition] = start..<range.upperBound
    }
    return ranges
  }

  // MARK: - Showing

  private func show(_ record: LogRecord, _ partition: Int, _ topic: inout UntypedTopic) throws {
    let key = unsafe record.hasKey ? OutputValue(textOrBytes: [UInt8](record.key)) : .null
    let value = OutputValue(unsafe topic.value(record.value))
    let headers = record.headers.map { (name: $0.name, value: OutputValue(textOrBytes: $0.value)) }
    guard format == .json else {
      var text = "\(partition)/\(record.offset)  \(TimeText.of(record.timestamp))  \(shown(key))  \(shown(value))"
      if !headers.isEmpty { text += "  \(JSONText.of(.object(headers)))" }
      return try console.line(text)
    }
    var members: [(name: String, value: OutputValue)] = [
      (name: "partition", value: .integer(Int64(partition))), (name: "offset", value: .integer(record.offset)),
      (name: "timestamp", value: .text(TimeText.of(record.timestamp))), (name: "key", value: key),
      (name: "value", value: value),
    ]
    if !headers.isEmpty { members.append((name: "headers", value: .object(headers))) }
    try console.line(JSONText.of(.object(members)))
  }

  /// For people: text as it is, bytes as 0x…, the rest as JSON.
  private func shown(_ value: OutputValue) -> String {
    switch value {
    case .null: "-"
    case .text(let text): DisplayText(text).text
    case .object(let members) where members.count == 1 && members[0].name == "hex":
      "0x" + members[0].value.plainText
    default: JSONText.of(value)
    }
  }
}
