import Millrace

/// `millrace tail`: records of a topic in the order of their arrival.
struct TailCommand {
  /// How many records of each partition are shown unless told where to begin.
  static let lastRecords: Int64 = 10

  let console: Console
  let options: TailOptions
  let format: OutputFormat

  func run(_ place: LogPlace, _ name: String) throws -> Int32 {
    defer { place.close() }
    var topic = try place.topic(name)
    if let group = options.group {
      return try GroupTail(console: console, options: options).run(group, topic.log) { record in
        let value = unsafe record.value.withUnsafeBytes { unsafe topic.value($0) }
        try show(record.partition, record.offset, record.timestamp, record.key, value, record.headers)
      }
    }
    let ranges = try RecordRanges(topic: topic.log, command: "tail").ranges(
      partitions: options.partition.map { [$0] },
      from: { options.start ?? .offset(max($0.lowerBound, $0.upperBound - Self.lastRecords)) })
    if options.isFollowing { console.catchInterrupts() }
    let reader = try topic.log.reader(from: ranges.mapValues(\.lowerBound), damage: .skip)
    var shown = 0
    var noted = 0
    while true {
      let read = try reader.read { batch in
        // Without following, what comes while we write is not waited for.
        let end = options.isFollowing ? .max : ranges[batch.partition]?.upperBound ?? 0
        for record in batch where record.offset < end {
          if let limit = options.limit, shown >= limit { break }
          let key = unsafe record.hasKey ? [UInt8](record.key) : nil
          let value = unsafe topic.value(record.value)
          try show(batch.partition, record.offset, record.timestamp, key, value, record.headers)
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

  // MARK: - Showing

  private func show(
    _ partition: Int, _ offset: Int64, _ time: Timestamp, _ keyBytes: [UInt8]?, _ untyped: UntypedValue,
    _ allHeaders: [LogHeader]
  ) throws {
    let key = keyBytes.map { OutputValue(textOrBytes: $0) } ?? .null
    let value = OutputValue(untyped)
    let headers = allHeaders.map { (name: $0.name, value: OutputValue(textOrBytes: $0.value)) }
    guard format == .json else {
      var text = "\(partition)/\(offset)  \(TimeText.of(time))  \(shown(key))  \(shown(value))"
      if !headers.isEmpty { text += "  \(JSONText.of(.object(headers)))" }
      return try console.line(text)
    }
    var members: [(name: String, value: OutputValue)] = [
      (name: "partition", value: .integer(Int64(partition))), (name: "offset", value: .integer(offset)),
      (name: "timestamp", value: .text(TimeText.of(time))), (name: "key", value: key),
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
