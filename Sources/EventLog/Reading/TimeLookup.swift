import Bytes

/// Finds the first record of a partition with a timestamp at or after a given one.
struct TimeLookup {
  let state: TopicState
  let partition: Int
  let timestamp: Int64

  func run() throws -> Int64? {
    while true {
      let snapshot = try state.snapshot()
      do {
        return try find(in: snapshot)
      } catch let error as EventLogError where error.code == .missingSegment || error.code == .offsetOutOfRange {
        // A segment was removed or replaced meanwhile; if none was, it is really missing.
        let segments = try state.snapshot().segments.map(\.number)
        if segments == snapshot.segments.map(\.number) { throw error }
      }
    }
  }

  private func find(in snapshot: TopicState.Snapshot) throws -> Int64? {
    let start = snapshot.start(partition)
    for segment in snapshot.segments {
      let end = segment.isSealed ? segment.ends[partition] : snapshot.ends[partition]
      if end <= segment.starts[partition] { continue }
      if segment.isSealed && segment.maximumTimestamps[partition] < timestamp { continue }
      let file = try state.file(of: segment)
      let entry = try file.indexEntry(partition: partition, beforeTimestamp: timestamp)
      let from = max(entry?.offset ?? segment.starts[partition], start)
      if let found = try scan(from: from, to: end) { return found }
    }
    return nil
  }

  private func scan(from offset: Int64, to end: Int64) throws -> Int64? {
    let reader = try LogReader(state, offsets: [partition: offset], damage: .skip)
    var found: Int64?
    var isInside = true
    while found == nil && isInside {
      let read = try reader.scan(maxBytes: 1 << 20) { batch in
        if batch.firstOffset >= end {
          isInside = false
          return false
        }
        if batch.maximumTimestamp.microseconds < timestamp { return true }
        for record in batch where record.timestamp.microseconds >= timestamp {
          found = record.offset
          return false
        }
        return true
      }
      if read == 0 { isInside = false }
    }
    return found
  }
}
