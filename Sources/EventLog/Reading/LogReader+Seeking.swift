import LMDB

extension LogReader {
  func check(_ offset: Int64, _ partition: Int, _ snapshot: TopicState.Snapshot) throws(EventLogError) {
    let range = snapshot.range(partition)
    if offset < range.lowerBound || offset > range.upperBound {
      throw .offsetOutOfRange(offset, range, topic: state.name, partition: partition)
    }
  }

  /// The index in `snapshot` of the segment to read in, after finding `place` if need be.
  func segmentIndex(_ snapshot: TopicState.Snapshot) throws -> Int? {
    if let place {
      if let index = snapshot.segments.firstIndex(where: { $0.number == place.segment }) { return index }
      // Retention took the segment from under us.
      self.place = nil
    }
    var first: Int?
    for (partition, offset) in nextOffsets.enumerated() where offset >= 0 {
      try check(offset, partition, snapshot)
      let index = snapshot.segments.lastIndex { $0.starts[partition] <= offset } ?? 0
      first = min(first ?? index, index)
    }
    guard let first else { return nil }
    place = (snapshot.segments[first].number, try sequence(in: first, snapshot))
    return first
  }

  /// The sequence in segment `index` from which on no wanted record is missed.
  private func sequence(in index: Int, _ snapshot: TopicState.Snapshot) throws -> UInt64 {
    let segment = snapshot.segments[index]
    let isLast = index + 1 == snapshot.segments.count
    var sequence = isLast ? snapshot.endSequence : segment.nextSequence
    for (partition, offset) in nextOffsets.enumerated() where offset >= 0 {
      let end = isLast ? snapshot.ends[partition] : segment.ends[partition]
      if offset >= end { continue }
      guard offset > segment.starts[partition] else { return segment.firstSequence }
      let entry = try? state.file(of: segment).indexEntry(partition: partition, atOrBefore: offset)
      sequence = min(sequence, entry?.sequence ?? segment.firstSequence)
    }
    return max(sequence, segment.firstSequence)
  }

  /// Whether `segment` was removed by retention since the snapshot was taken.
  func hasGone(_ segment: SegmentRecord) throws -> Bool {
    let now = try state.snapshot()
    if now.segments.contains(where: { $0.number == segment.number }) { return false }
    place = nil
    return true
  }

  /// Goes on to the segment behind a sealed one; what it should have held and did not is missing.
  func passOver(_ segment: SegmentRecord, _ snapshot: TopicState.Snapshot, _ index: Int) throws {
    for (partition, offset) in nextOffsets.enumerated() where offset >= 0 && segment.isSealed {
      let end = segment.ends[partition]
      if offset >= end { continue }
      let reason = "the segment ends before them"
      if damagePolicy == .refuse {
        throw EventLogError.damaged(
          offset..<end, reason, topic: state.name, partition: partition, path: state.path(of: segment.number))
      }
      skip(partition, offset..<end, reason, state.path(of: segment.number))
    }
    guard index + 1 < snapshot.segments.count else { return }
    let next = snapshot.segments[index + 1]
    place = (next.number, next.firstSequence)
  }

  /// Notes every wanted record of a segment that cannot be opened as skipped.
  func note(_ segment: SegmentRecord, _ reason: String) {
    guard segment.isSealed else { return }
    for (partition, offset) in nextOffsets.enumerated() where offset >= 0 && offset < segment.ends[partition] {
      skip(partition, offset..<segment.ends[partition], reason, state.path(of: segment.number))
    }
  }

  func skip(_ partition: Int, _ range: Range<Int64>, _ reason: String, _ path: String) {
    noteSkipped(LogDamage(topic: state.name, partition: partition, offsets: range, reason: reason, path: path))
    nextOffsets[partition] = range.upperBound
  }

  /// The first offset of `partition` behind the damage at `offset`: where its next batch begins, or the segment's end.
  func endOfDamage(
    _ file: SegmentFile, _ partition: Int, _ offset: Int64, _ sequence: UInt64, _ segment: SegmentRecord,
    _ snapshot: TopicState.Snapshot
  ) throws -> Int64 {
    try file.nextOffset(of: partition, after: offset, from: sequence)
      ?? (segment.isSealed ? segment.ends[partition] : max(snapshot.ends[partition], offset + 1))
  }
}

extension SegmentFile {
  /// The base offset of the first batch of `partition` from `sequence` on that begins after `offset`.
  func nextOffset(of partition: Int, after offset: Int64, from sequence: UInt64) throws -> Int64? {
    try environment.read { transaction in
      try transaction.withCursor(batches) { cursor in
        var isThere = unsafe try BatchKey(sequence: sequence, partition: 0, offset: 0).withBytes {
          unsafe try cursor.seek(atLeast: $0)
        }
        while isThere, let key = unsafe BatchKey(cursor.key) {
          if key.partition == partition && key.offset > offset { return key.offset }
          isThere = try cursor.next()
        }
        return nil
      }
    }
  }
}

extension EventLogError {
  /// Names the offsets that a segment held which cannot be opened.
  func naming(_ segment: SegmentRecord) -> EventLogError {
    guard segment.isSealed else { return self }
    let ranges = zip(segment.starts, segment.ends).enumerated().filter { $0.element.0 < $0.element.1 }
    let listed = ranges.prefix(8).map { "partition \($0.offset): \($0.element.0)..<\($0.element.1)" }
    var error = self
    let more = ranges.count > 8 ? " and \(ranges.count - 8) partitions more" : ""
    error.message += " (it holds \(listed.joined(separator: ", "))\(more))"
    if ranges.count == 1, let only = ranges.first {
      error.partition = only.offset
      error.damagedRange = only.element.0..<only.element.1
    }
    return error
  }
}

/// A range of offsets that cannot be read.
public struct LogDamage: Hashable, Sendable, CustomStringConvertible {
  public var topic: String
  public var partition: Int
  public var offsets: Range<Int64>
  public var reason: String
  public var path: String

  public var description: String {
    "topic \(topic), partition \(partition), offsets \(offsets.lowerBound)..<\(offsets.upperBound): "
      + "\(reason) (\(path))"
  }
}
