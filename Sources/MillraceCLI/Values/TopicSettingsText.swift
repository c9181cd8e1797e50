import Millrace

extension TopicSettings {
  /// Changes what the command line named; all but the number of partitions may change later.
  func apply(to options: inout TopicOptions) {
    if let partitions { options.partitions = partitions }
    if let segmentBytes { options.segmentBytes = segmentBytes }
    if let segmentAge { options.segmentAge = segmentAge.value }
    if let retentionBytes { options.retentionBytes = retentionBytes.value }
    if let retentionAge { options.retentionAge = retentionAge.value }
    if let maximumRecordBytes { options.maximumRecordBytes = maximumRecordBytes }
    if let durability { options.durability = Durability(durability) }
    if let isTimedByLog { options.timestamps = isTimedByLog ? .append : .event }
    if let compressionLevel { options.compression = compressionLevel.value.map { .zstd(level: $0) } ?? .none }
    if let isCompacted { options.compaction = isCompacted ? options.compaction ?? Compaction() : nil }
    // To say how a topic is compacted is to ask for it, unless it is switched off in the same breath.
    if isCompacted == false { return }
    if tombstoneDelay != nil || compactionAge != nil { options.compaction = options.compaction ?? Compaction() }
    if let tombstoneDelay { options.compaction?.tombstoneDelay = tombstoneDelay }
    if let compactionAge { options.compaction?.minimumAge = compactionAge }
  }
}

extension Durability {
  init(_ choice: DurabilityChoice) {
    self =
      switch choice {
      case .synced: .synced
      case .interval(let interval): .interval(interval)
      case .system: .system
      }
  }

  /// As the command line names it.
  var text: String {
    switch self {
    case .synced: "synced"
    case .interval(let interval): "interval:\(DurationText.of(interval))"
    case .system: "system"
    }
  }
}

/// One of a topic's settings as the command line names it.
struct TopicSetting {
  var name: String
  /// For people.
  var text: String
  /// For programs: bytes as numbers, what is unlimited as null.
  var value: OutputValue

  static func all(_ options: TopicOptions) -> [TopicSetting] {
    [
      TopicSetting(
        name: "partitions", text: HumanText.count(options.partitions), value: .integer(Int64(options.partitions))),
      TopicSetting("segment-bytes", options.segmentBytes),
      TopicSetting("segment-age", options.segmentAge, without: "never"),
      TopicSetting("retention-bytes", options.retentionBytes),
      TopicSetting("retention-age", options.retentionAge, without: "forever"),
      TopicSetting("max-record-bytes", options.maximumRecordBytes),
      TopicSetting("durability", options.durability.text),
      TopicSetting("timestamps", options.timestamps == .append ? "append" : "event"),
      TopicSetting("compression", compression(options.compression)),
      TopicSetting("compaction", options.compaction == nil ? "off" : "on"),
    ] + compaction(options)
  }

  /// How long records stay, in a few words.
  static func kept(_ options: TopicOptions) -> String {
    var parts = [options.retentionAge.map(DurationText.of), options.retentionBytes.map(HumanText.size)].compactMap {
      $0
    }
    if options.compaction != nil { parts.insert("latest per key", at: 0) }
    return parts.isEmpty ? "all" : parts.joined(separator: ", ")
  }

  static func compression(_ compression: Compression) -> String {
    switch compression {
    case .none: "none"
    case .zstd(let level): "zstd:\(level)"
    }
  }

  private static func compaction(_ options: TopicOptions) -> [TopicSetting] {
    guard let compaction = options.compaction else { return [] }
    return [
      TopicSetting("tombstone-delay", compaction.tombstoneDelay, without: ""),
      TopicSetting("compaction-age", compaction.minimumAge, without: ""),
    ]
  }
}

extension TopicSetting {
  private init(_ name: String, _ text: String) { self.init(name: name, text: text, value: .text(text)) }

  private init(_ name: String, _ bytes: Int?) {
    self.init(name: name, text: bytes.map(HumanText.size) ?? "none", value: bytes.map { .integer(Int64($0)) } ?? .null)
  }

  private init(_ name: String, _ duration: Duration?, without: String) {
    let text = duration.map(DurationText.of)
    self.init(name: name, text: text ?? without, value: text.map { .text($0) } ?? .null)
  }
}
