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

  // MARK: - Showing

  private func show(_ record: LogRecord, _ partition: Int, _ topic: inout PlaceTopic) throws {
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
