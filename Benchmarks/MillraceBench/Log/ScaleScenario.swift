import Glibc
import Millrace

extension LogScenarios {
  static let scale = Scenario(
    name: "log-scale",
    summary:
      "records of 1,000 bytes in one topic, then many small topics; opening, memory, descriptors; topics=1000, open=64",
    defaultSize: 10_000_000
  ) { options in
    let folder = options.folder + "/log"
    var facts: [String: String] = [:]
    let watch = Stopwatch()
    try fill(folder, options, &facts)
    let measured = watch.measurement("log-scale", events: options.size, settings: ["recordBytes": "1000"])
    try openAndScan(folder, options, &facts)
    var result = measured
    result.facts = facts
    return result
  }

  private static func fill(_ folder: String, _ options: Scenario.Options, _ facts: inout [String: String]) throws {
    let log = try EventLog.open(
      at: folder, LogOptions(maximumOpenSegments: options.integer("open", 64)))
    defer { log.close() }
    let topic = try log.topic("large", TopicOptions(partitions: 8))
    var appender = try topic.makeAppender()
    var value = [UInt8](repeating: 7, count: 984)
    for number in 0..<options.size {
      unsafe value.withUnsafeMutableBytes { unsafe $0.storeBytes(of: number, as: Int.self) }
      try unsafe withUnsafeBytes(of: number.bigEndian) { key in
        try unsafe value.withUnsafeBytes {
          unsafe try appender.append(key: key, value: $0, timestamp: Timestamp(microseconds: Int64(number)))
        }
      }
    }
    try appender.flushBlocking()
    for number in 0..<options.integer("topics", 1000) {
      let small = try log.topic("small-\(number)", TopicOptions())
      _ = try small.appendBlocking(key: nil, value: [1], timestamp: Timestamp(microseconds: 0))
    }
    facts["after writing"] = resources()
    facts["segments"] = "\(try topic.describe().segments.count)"
    facts["bytes"] = "\(try topic.describe().bytes)"
  }

  private static func openAndScan(
    _ folder: String, _ options: Scenario.Options, _ facts: inout [String: String]
  ) throws {
    facts["before opening"] = resources()
    let opening = Stopwatch()
    let log = try EventLog.open(
      at: folder, LogOptions(maximumOpenSegments: options.integer("open", 64)))
    facts["open ms"] = "\(opening.seconds * 1000)"
    let first = Stopwatch()
    let topic = try log.topic("large")
    facts["topic ms"] = "\(first.seconds * 1000)"
    let each = Stopwatch()
    let count = options.integer("topics", 1000)
    for number in 0..<count { _ = try log.topic("small-\(number)") }
    facts["each small topic ms"] = "\(each.seconds * 1000 / Double(max(count, 1)))"
    let appending = Stopwatch()
    for number in 0..<count {
      _ = try log.topic("small-\(number)").appendBlocking(key: nil, value: [2], timestamp: Timestamp(microseconds: 1))
    }
    facts["append to each ms"] = "\(appending.seconds * 1000 / Double(max(count, 1)))"
    facts["all topics open"] = resources()
    let scanning = Stopwatch()
    let (records, _) = try BenchRecords.visit(topic)
    facts["scan records/s"] = "\(Int(Double(records) / scanning.seconds))"
    facts["after the scan"] = resources()
  }

  /// What this process holds now: memory of its own and of files, descriptors, threads.
  private static func resources() -> String {
    func count(_ path: String) -> Int {
      guard let stream = unsafe opendir(path) else { return 0 }
      defer { unsafe closedir(stream) }
      var count = -2
      while unsafe readdir(stream) != nil { count += 1 }
      return count
    }
    return "\(memory("RssAnon:")) kB own, \(memory("RssFile:")) kB of files, \(count("/proc/self/fd")) descriptors, "
      + "\(count("/proc/self/task")) threads"
  }

  private static func memory(_ field: String) -> String {
    guard let file = unsafe fopen("/proc/self/status", "r") else { return "?" }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while unsafe fgets(&line, 256, file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if text.hasPrefix(field) {
        return text.split(whereSeparator: \.isWhitespace).dropFirst().first.map(String.init) ?? "?"
      }
    }
    return "?"
  }
}

extension Stopwatch {
  fileprivate var seconds: Double { measurement("", events: 0, settings: [:]).seconds }
}
