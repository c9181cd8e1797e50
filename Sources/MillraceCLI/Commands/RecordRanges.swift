import Millrace

/// Finds the offsets that positions on the command line mean.
struct RecordRanges {
  let topic: LogTopic
  /// Whose command line it was, for errors.
  let command: String

  /// Per wanted partition where to begin, and where it ends now or, with `end`, before.
  ///
  /// One offset for several partitions: each begins, or ends, as near to it as it can. For one partition it must exist.
  func ranges(
    partitions: [Int]?, from start: (Range<Int64>) -> RecordPosition, to end: RecordPosition = .latest
  ) throws -> [Int: Range<Int64>] {
    let offsets = try topic.offsets()
    if let beyond = partitions?.first(where: { $0 >= offsets.count }) {
      throw UsageError(
        message: "topic '\(topic.name)' has the partitions 0 to \(offsets.count - 1), not \(beyond)", command: command)
    }
    var ranges: [Int: Range<Int64>] = [:]
    let wanted = partitions ?? Array(offsets.indices)
    for partition in wanted {
      let range = offsets[partition]
      let isOnly = wanted.count == 1
      let first = try offset(start(range), partition, range, mustExist: isOnly)
      let last = try offset(end, partition, range, mustExist: false)
      ranges[partition] = first..<max(first, last)
    }
    return ranges
  }

  private func offset(
    _ position: RecordPosition, _ partition: Int, _ range: Range<Int64>, mustExist: Bool
  ) throws -> Int64 {
    switch position {
    case .earliest: return range.lowerBound
    case .latest: return range.upperBound
    case .time(let time):
      let found = try topic.offset(forTimestamp: Timestamp(microseconds: time), partition: partition)
      return min(found ?? range.upperBound, range.upperBound)
    case .offset(let offset):
      if mustExist, offset < range.lowerBound || offset > range.upperBound {
        throw UsageError(
          message: "offset \(offset) is not in partition \(partition) of '\(topic.name)', which holds "
            + "\(range.lowerBound) to \(range.upperBound - 1); the next will be \(range.upperBound)",
          command: command)
      }
      return min(max(offset, range.lowerBound), range.upperBound)
    }
  }
}
