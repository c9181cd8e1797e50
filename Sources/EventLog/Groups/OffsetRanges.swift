/// A set of offsets as rising ranges that neither touch nor overlap.
public struct OffsetRanges: Hashable, Sendable {
  public private(set) var ranges: [Range<Int64>] = []

  public init() {}

  public var isEmpty: Bool { ranges.isEmpty }
  /// How many offsets are in it.
  public var count: Int64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } }

  public func contains(_ offset: Int64) -> Bool {
    let index = firstIndex(endingAfter: offset)
    return index < ranges.count && ranges[index].lowerBound <= offset
  }

  /// Adds `range`; cheap at the end.
  public mutating func insert(_ range: Range<Int64>) {
    if range.isEmpty { return }
    guard let last = ranges.last, range.lowerBound <= last.upperBound else { return ranges.append(range) }
    // From the first range that touches it to the last.
    let first = firstIndex(endingAfter: range.lowerBound - 1)
    var end = first
    var merged = range
    while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
      merged =
        min(merged.lowerBound, ranges[end].lowerBound)..<max(merged.upperBound, ranges[end].upperBound)
      end += 1
    }
    ranges.replaceSubrange(first..<end, with: [merged])
  }

  /// Removes every offset below `offset`.
  public mutating func removeAll(below offset: Int64) {
    let first = firstIndex(endingAfter: offset)
    ranges.removeFirst(first)
    if let next = ranges.first, next.lowerBound < offset { ranges[0] = offset..<next.upperBound }
  }

  /// The first offset at or after `offset` that is not in it.
  public func firstMissing(from offset: Int64) -> Int64 {
    let index = firstIndex(endingAfter: offset)
    return index < ranges.count && ranges[index].lowerBound <= offset ? ranges[index].upperBound : offset
  }

  private func firstIndex(endingAfter offset: Int64) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= offset { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
