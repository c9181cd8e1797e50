import LMDB

/// What `verify` found.
public struct LogVerification: Sendable, Hashable {
  public var topics = 0
  public var segments = 0
  public var batches = 0
  public var records: Int64 = 0
  /// Bytes of batches whose checksums were computed.
  public var bytes = 0
  /// What cannot be read; empty if all is well.
  public var damages: [LogDamage] = []
  /// The paths of sealed segments in which nothing was found. They never change: the next `verify` may leave them out.
  public var sound: Set<String> = []

  public var isSound: Bool { damages.isEmpty }
}

extension EventLog {
  /// Reads everything, checks every checksum, that no offset is missing, and that the index leads to its batches.
  ///
  /// `segments`: paths of segments that are not read, such as those that were `sound` lately; their place in the chain
  /// of offsets is checked nevertheless. Blocks for as long as reading the log takes. `progress` gets what was found so
  /// far, after each segment.
  public func verify(
    excluding segments: Set<String> = [], progress: (LogVerification) -> Void = { _ in }
  ) throws -> LogVerification {
    try requireOpen()
    return try core.holdingSegments { try verifyHeld(segments, progress) }
  }

  private func verifyHeld(
    _ excluded: Set<String>, _ progress: (LogVerification) -> Void
  ) throws -> LogVerification {
    var found = LogVerification()
    let (topics, segments) = try core.catalog.load()
    for (name, topic) in topics.sorted(by: { $0.key < $1.key }) {
      found.topics += 1
      var before: SegmentRecord?
      for segment in segments[topic.id] ?? [] {
        let path = core.directory + "/" + name + "/" + LogFiles.segmentName(segment.number)
        if let before { checkChain(before, segment, topic: name, path: path, &found) }
        before = segment
        if excluded.contains(path) { continue }
        let known = found.damages.count
        var check = SegmentCheck(
          topic: name, segment: segment, path: path,
          access: core.access(to: segment),
          mapBytes: core.options.segmentMapBytes ?? topic.options.segmentBytes * 2 + (256 << 20))
        check.run(into: &found)
        found.segments += 1
        if segment.isSealed && found.damages.count == known { found.sound.insert(path) }
        progress(found)
      }
    }
    return found
  }

  /// Each segment begins where the one before ended.
  private func checkChain(
    _ before: SegmentRecord, _ segment: SegmentRecord, topic: String, path: String, _ found: inout LogVerification
  ) {
    for (partition, start) in segment.starts.enumerated() where partition < before.ends.count {
      let end = before.ends[partition]
      if start == end { continue }
      found.damages.append(
        LogDamage(
          topic: topic, partition: partition, offsets: min(start, end)..<max(start, end),
          reason: start > end ? "the catalogue names no segment with them" : "two segments hold them", path: path))
    }
  }
}

/// Checks one segment.
private struct SegmentCheck {
  let topic: String
  let segment: SegmentRecord
  let path: String
  let mapBytes: Int
  private let access: Environment.Access
  private let opener = BatchOpener()
  private var next: [Int64]
  /// Damage whose end is not known yet, per partition.
  private var open: [Int: (from: Int64, reason: String)] = [:]

  init(
    topic: String, segment: SegmentRecord, path: String, access: Environment.Access, mapBytes: Int
  ) {
    self.access = access
    self.topic = topic
    self.segment = segment
    self.path = path
    self.mapBytes = mapBytes
    next = segment.starts
  }

  mutating func run(into found: inout LogVerification) {
    do {
      let file = try SegmentFile.open(
        path, number: segment.number, topic: topic, access: access, mapBytes: mapBytes)
      try checkBatches(file, &found)
      try checkIndex(file, &found)
    } catch {
      let reason = (error as? EventLogError)?.message ?? "\(error)"
      for partition in next.indices where open[partition] == nil { open[partition] = (next[partition], reason) }
    }
    for (partition, damage) in open.sorted(by: { $0.key < $1.key }) {
      let end = segment.isSealed ? segment.ends[partition] : max(next[partition], damage.from)
      if damage.from < end || !segment.isSealed { report(partition, damage.from..<end, damage.reason, &found) }
    }
    for (partition, offset) in next.enumerated() where segment.isSealed && open[partition] == nil {
      if offset < segment.ends[partition] {
        report(partition, offset..<segment.ends[partition], "the segment ends before them", &found)
      }
    }
  }

  private mutating func checkBatches(_ file: SegmentFile, _ found: inout LogVerification) throws {
    try file.environment.read { transaction in
      try transaction.withCursor(file.batches) { cursor in
        var isThere = try cursor.first()
        while isThere {
          if let key = unsafe BatchKey(cursor.key), next.indices.contains(key.partition) {
            unsafe check(key, cursor.value, &found)
          } else {
            found.damages.append(
              LogDamage(topic: topic, partition: -1, offsets: 0..<0, reason: "a key is damaged", path: path))
          }
          isThere = try cursor.next()
        }
      }
    }
  }

  private mutating func check(_ key: BatchKey, _ value: UnsafeRawBufferPointer, _ found: inout LogVerification) {
    if let damage = open.removeValue(forKey: key.partition) {
      report(key.partition, damage.from..<max(key.offset, damage.from), damage.reason, &found)
    } else if key.offset > next[key.partition] {
      report(key.partition, next[key.partition]..<key.offset, "the log has no batch with them", &found)
    } else if key.offset < next[key.partition] {
      report(key.partition, key.offset..<next[key.partition], "two batches hold them", &found)
    }
    found.batches += 1
    found.bytes += value.count
    if let reason = unsafe fault(key, value) {
      open[key.partition] = (key.offset, reason)
      let header = unsafe value.count >= BatchHeader.size ? BatchHeader(value) : BatchHeader()
      next[key.partition] = SegmentTail.endOffset(key, header)
      return
    }
    let header = unsafe BatchHeader(value)
    found.records += Int64(header.count)
    next[key.partition] = header.lastOffset + 1
  }

  private func fault(_ key: BatchKey, _ value: UnsafeRawBufferPointer) -> String? {
    switch unsafe opener.open(value, partition: key.partition, offset: key.offset, from: key.offset) {
    case .damaged(let reason): return reason
    case .batch(let batch):
      for _ in batch {}
      if case .damaged(let reason) = opener.takeFault() { return reason }
      return nil
    }
  }

  /// Every index entry names a batch that is there.
  private func checkIndex(_ file: SegmentFile, _ found: inout LogVerification) throws {
    try file.environment.read { transaction in
      var entries: [IndexEntry] = []
      try transaction.withCursor(file.index) { cursor in
        var isThere = try cursor.first()
        while isThere {
          if let entry = unsafe IndexEntry(key: cursor.key, value: cursor.value), next.indices.contains(entry.partition)
          {
            entries.append(entry)
          } else {
            found.damages.append(
              LogDamage(
                topic: topic, partition: -1, offsets: 0..<0, reason: "an entry of the index is damaged", path: path))
          }
          isThere = try cursor.next()
        }
      }
      for entry in entries {
        let key = BatchKey(sequence: entry.sequence, partition: entry.partition, offset: entry.offset)
        let isThere = unsafe try key.withBytes { unsafe try transaction.get(file.batches, $0) } != nil
        if !isThere {
          report(entry.partition, entry.offset..<entry.offset + 1, "the index names a batch that is not there", &found)
        }
      }
    }
  }

  private func report(_ partition: Int, _ range: Range<Int64>, _ reason: String, _ found: inout LogVerification) {
    found.damages.append(
      LogDamage(topic: topic, partition: partition, offsets: range, reason: reason, path: path))
  }
}
