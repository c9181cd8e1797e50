import Millrace

/// The options of the commands that move records in and out.
extension ArgumentReader {
  func tailOptions() throws(UsageError) -> TailOptions {
    var options = TailOptions()
    options.partition = try integer("partition", atLeast: 0).map { Int($0) }
    options.limit = try integer("limit", atLeast: 1).map { Int($0) }
    options.isFollowing = has("follow")
    options.start = try position("from")
    options.group = value("group")
    if options.group != nil, options.partition != nil {
      throw wrong("options '--group' and '--partition' exclude each other")
    }
    return options
  }

  func exportOptions() throws(UsageError) -> ExportOptions {
    var options = ExportOptions()
    options.start = try position("from") ?? .earliest
    options.end = try position("to") ?? .latest
    if case .earliest = options.end { throw wrong("'--to earliest' would write nothing") }
    if let text = value("partition") {
      var partitions: [Int] = []
      for item in try list("partition", text, of: "partition") {
        guard let number = Int(item), number >= 0 else {
          throw wrong("'--partition' takes whole numbers of at least 0, not '\(item)'")
        }
        partitions.append(number)
      }
      options.partitions = partitions.sorted()
    }
    options.format = try format() == .csv ? .csv : .jsonLines
    options.bytes = try choice("bytes") ?? .auto
    options.isRaw = has("raw")
    return options
  }

  func appendOptions() throws(UsageError) -> AppendOptions {
    var options = AppendOptions()
    options.input = try choice("input") ?? .text
    if let path = try fieldPath("key-field") { options.key = .field(path) }
    if let separator = value("key-separator") {
      if has("key-field") { throw wrong("options '--key-field' and '--key-separator' exclude each other") }
      if options.input == .json { throw wrong("'--key-separator' is for lines of text; JSON takes '--key-field'") }
      options.key = .before(separator)
    }
    options.keyType = try choice("key-type") ?? .text
    if has("key-type"), case .none = options.key {
      throw wrong("'--key-type' needs '--key-field' or '--key-separator'")
    }
    options.timestampField = try fieldPath("timestamp-field")
    if let unit = try choice("timestamp-unit", AppendOptions.TimeUnit.self) {
      if options.timestampField == nil { throw wrong("'--timestamp-unit' needs '--timestamp-field'") }
      options.timestampUnit = unit
    }
    for text in values("header") { options.headers.append(try header(text)) }
    options.partition = try integer("partition", atLeast: 0).map { Int($0) }
    if let batch = try integer("batch", atLeast: 1) {
      if batch > 500_000 { throw wrong("'--batch' takes at most 500000, not '\(batch)'") }
      options.batch = Int(batch)
    }
    options.errorPolicy = try choice("on-error") ?? .fail
    return options
  }

  /// A field of JSON: names, or places in lists, from the outermost one on.
  private func fieldPath(_ option: String) throws(UsageError) -> [String]? {
    guard let text = value(option) else { return nil }
    if value("input") != "json" { throw wrong("'--\(option)' needs '--input json'") }
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if names.contains("") { throw wrong("'--\(option)' has an empty name in '\(text)'") }
    if names.count > JSONScanner.maximumDepth { throw wrong("'--\(option)' has too many names") }
    return names
  }

  private func header(_ text: String) throws(UsageError) -> AppendOptions.Header {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else { throw wrong("'--header' takes NAME=VALUE, not '\(text)'") }
    return AppendOptions.Header(name: parts[0], value: parts[1])
  }

  /// Where in a topic the value of `option` points to.
  func position(_ option: String) throws(UsageError) -> RecordPosition? {
    switch value(option) {
    case nil: return nil
    case "earliest", "beginning": return .earliest
    case "latest", "end": return .latest
    case let text?:
      if let offset = Int64(text), offset >= 0 { return .offset(offset) }
      // A number alone is an offset, never a time.
      if Int64(text) == nil, let time = TimeText.parse(text) { return .time(time.microseconds) }
      throw wrong(
        "'--\(option)' takes 'earliest', 'latest', an offset or a time (2026-12-01T09:30:00Z), not '\(text)'")
    }
  }
}
