import EventLog

/// Verifies the batches of a log in which the pages of some segments are damaged: reads the others only.
struct SoundSegments {
  /// What is left out.
  let damaged: DamagedPages
  private(set) var topics = 0
  private(set) var segments = 0
  private(set) var batches = 0
  private(set) var records: Int64 = 0
  private(set) var bytes = 0
  private(set) var damages: [StoreVerification.Damage] = []

  init(damaged: DamagedPages) { self.damaged = damaged }

  mutating func verify(_ log: EventLog, progress: (Int) -> Void) throws {
    for name in try log.topicNames() where !damaged.topics.contains(name) {
      let topic = try log.topic(name)
      let described = try topic.describe()
      topics += 1
      for (index, segment) in described.segments.enumerated() where !damaged.segments.contains(segment.path) {
        segments += 1
        let next = index + 1 < described.segments.count ? described.segments[index + 1].startOffsets : nil
        let ends = next ?? described.partitions.map(\.endOffset)
        var ranges: [Int: Range<Int64>] = [:]
        for (partition, start) in segment.startOffsets.enumerated() where start < ends[partition] {
          ranges[partition] = start..<ends[partition]
        }
        do {
          try verify(topic, ranges, progress)
        } catch let error as EventLogError {
          damages.append(
            StoreVerification.Damage(subject: "topic \(name)", path: segment.path, detail: error.message))
        }
      }
    }
  }

  /// Reads `ranges`, a batch at a time so as not to come into the next segment.
  private mutating func verify(_ topic: LogTopic, _ ranges: [Int: Range<Int64>], _ progress: (Int) -> Void) throws {
    if ranges.isEmpty { return }
    let reader = try topic.reader(from: ranges.mapValues(\.lowerBound), damage: .skip)
    while ranges.contains(where: { (reader.position($0.key) ?? .max) < $0.value.upperBound }) {
      var isAtEnd = true
      _ = try reader.scan(maxBytes: 1) { batch in
        batches += 1
        records += Int64(batch.count)
        bytes += batch.byteCount
        isAtEnd = false
        return false
      }
      progress(bytes)
      if isAtEnd { break }
    }
    damages += reader.skipped.map(StoreVerification.Damage.init)
  }
}
