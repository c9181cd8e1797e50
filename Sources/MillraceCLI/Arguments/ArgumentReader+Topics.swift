/// The options of `millrace topics …`.
extension ArgumentReader {
  func topicsAction(_ name: String) throws(UsageError) -> TopicsAction {
    switch name {
    case "topics list": return .list
    case "topics describe": return .describe(operand(1))
    case "topics create": return .create(operand(1), try topicSettings(), try choice("init"))
    case "topics set":
      let settings = try topicSettings()
      if settings == TopicSettings() { throw wrong("nothing to change is named") }
      return .set(operand(1), settings)
    case "topics compact": return .compact(operand(1), isSealing: has("seal"))
    default: return .delete(operand(1), isSure: has("yes"))
    }
  }

  func topicSettings() throws(UsageError) -> TopicSettings {
    var settings = TopicSettings()
    settings.partitions = try integer("partitions", atLeast: 1).map { Int(clamping: $0) }
    settings.segmentBytes = try size("segment-bytes")
    settings.segmentAge = try limit("segment-age", "never", duration)
    settings.retentionBytes = try limit("retention-bytes", "none", size)
    settings.retentionAge = try limit("retention-age", "forever", duration)
    settings.maximumRecordBytes = try size("max-record-bytes")
    settings.durability = try durability()
    settings.isTimedByLog = try choice("timestamps", TimestampChoice.self).map { $0 == .append }
    settings.compressionLevel = try compression()
    settings.isCompacted = try choice("compaction", SwitchChoice.self).map { $0 == .on }
    settings.tombstoneDelay = try duration("tombstone-delay")
    settings.compactionAge = try duration("compaction-age")
    return settings
  }

  private func durability() throws(UsageError) -> DurabilityChoice? {
    switch value("durability") {
    case nil: return nil
    case "synced": return .synced
    case "system": return .system
    case let text?:
      if text.hasPrefix("interval:"), let interval = DurationText.parse(String(text.dropFirst("interval:".count))) {
        return .interval(interval)
      }
      throw wrong("'--durability' takes 'synced', 'interval:TIME' (interval:100ms) or 'system', not '\(text)'")
    }
  }

  private enum TimestampChoice: String, CaseIterable { case event, append }
  private enum SwitchChoice: String, CaseIterable { case on, off }

  private func compression() throws(UsageError) -> TopicSettings.Limit<Int>? {
    switch value("compression") {
    case nil: return nil
    case "none": return TopicSettings.Limit<Int>.none
    case "zstd": return .at(3)
    case let text?:
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == "zstd", let level = Int(parts[1]), (1...19).contains(level) else {
        throw wrong("'--compression' takes 'none', 'zstd' or 'zstd:LEVEL' with a level of 1 to 19, not '\(text)'")
      }
      return .at(level)
    }
  }

  /// The value of `option`, or the word that lifts it.
  private func limit<Value: Equatable & Sendable>(
    _ option: String, _ word: String, _ read: (String) throws(UsageError) -> Value?
  ) throws(UsageError) -> TopicSettings.Limit<Value>? {
    value(option) == word ? TopicSettings.Limit<Value>.none : try read(option).map { .at($0) }
  }

  func size(_ option: String) throws(UsageError) -> Int? {
    guard let text = value(option) else { return nil }
    if let bytes = SizeText.parse(text) { return bytes }
    throw wrong("'--\(option)' takes a size such as 1048576, 256MiB or 1G, not '\(text)'")
  }

  func duration(_ option: String) throws(UsageError) -> Duration? {
    guard let text = value(option) else { return nil }
    if let duration = DurationText.parse(text) { return duration }
    throw wrong("'--\(option)' takes a time such as 500ms, 90s, 12h or 7d, not '\(text)'")
  }
}
