import Bytes
import LMDB

/// Reads partitions of a topic from given offsets on, in order of arrival, without copying.
///
/// Used by one thread at a time, any thread; may block for the disk, so keep it off the cooperative pool. Holds no
/// transaction between calls: an idle reader costs nothing and pins nothing. One reader over several partitions reads
/// the segments once: partitions interleave in one arrival order, and passing over another's batch costs about 50 ns.
/// In the writer's process it reads what is durable; in another process what is committed.
@safe
public final class LogReader {
  /// What to do with batches that cannot be read.
  public enum DamagePolicy: Sendable {
    /// Throw; the reader stays where it is.
    case refuse
    /// Go on behind them and note them in `skipped`.
    case skip
  }

  /// Whether the checksum of each batch is computed before it is given away.
  public enum Checksums: Sendable {
    /// Yes. A scan that visits every record was not slower for it.
    case verify
    /// No. Only for batches that this process has verified, or written, since it opened the log: a bit that has changed
    /// since then, or was read wrong, is given away as if it had been written so. Framing is still checked, so no
    /// memory is read that is not the batch's, and what is compressed must decompress to its size.
    case trustBecauseVerifiedByThisProcess
  }

  let state: TopicState
  private let checksums: Checksums
  /// Keeps the log open.
  private let log: EventLog?
  let damagePolicy: DamagePolicy
  /// Per partition the next offset to read, −1 where nothing is wanted.
  var nextOffsets: [Int64]
  /// The segment and the sequence to go on from; nil: to be found from the offsets.
  var place: (segment: UInt64, sequence: UInt64)?
  /// The durable end that the last read saw, to wait behind.
  private(set) var seenSequence: UInt64 = 0
  /// What was skipped so far, with its reason.
  public private(set) var skipped: [LogDamage] = []
  private let opener = BatchOpener()

  init(
    _ state: TopicState, offsets: [Int: Int64], damage: DamagePolicy, checksums: Checksums = .verify,
    log: EventLog? = nil
  ) throws(EventLogError) {
    self.state = state
    self.checksums = checksums
    self.log = log
    damagePolicy = damage
    nextOffsets = Array(repeating: -1, count: state.partitions)
    for (partition, offset) in offsets {
      try state.check(partition)
      nextOffsets[partition] = offset
    }
    let snapshot = try state.snapshot()
    for (partition, offset) in offsets { try check(offset, partition, snapshot) }
  }

  /// The next offset to be read from `partition`; nil if this reader does not read it.
  public func position(_ partition: Int) -> Int64? {
    guard nextOffsets.indices.contains(partition), nextOffsets[partition] >= 0 else { return nil }
    return nextOffsets[partition]
  }

  /// Goes on at `offset` in `partition`.
  ///
  /// - Throws: `offsetOutOfRange` with the valid range.
  public func seek(partition: Int, to offset: Int64) throws(EventLogError) {
    try state.check(partition)
    try check(offset, partition, try state.snapshot())
    nextOffsets[partition] = offset
    place = nil
  }

  /// Gives the next batches to `body`, until about `maxBytes` were given or there are no more; returns the number of
  /// records given, 0 at the end of the log.
  ///
  /// Batches from which compaction removed every record are given, too, and tell how far the reader came. Checksums are
  /// verified first. A batch is read when `body` returns; if it throws, the reader stays before that batch. Batches are
  /// valid inside `body` only.
  ///
  /// - Throws: `offsetOutOfRange` if retention overtook the reader, `damaged`, `missingSegment`, `topicDeleted`,
  ///   `closed`, `storage`; what `body` throws.
  @discardableResult
  public func read(maxBytes: Int = 1 << 20, _ body: (LogBatch) throws -> Void) throws -> Int {
    try scan(maxBytes: maxBytes) { batch in
      try body(batch)
      return true
    }
  }

  /// As `read`; ends early behind the batch for which `body` returns false, possibly with 0.
  package func scan(maxBytes: Int, _ body: (LogBatch) throws -> Bool) throws -> Int {
    var given = Progress()
    while true {
      let snapshot = try state.snapshot()
      seenSequence = snapshot.endSequence
      guard let index = try segmentIndex(snapshot), let sequence = place?.sequence else { return given.records }
      let segment = snapshot.segments[index]
      let file: SegmentFile
      do {
        file = try state.file(of: segment)
      } catch {
        if try hasGone(segment) { continue }
        if damagePolicy == .skip && error.code != .storage {
          note(segment, error.message)
          try passOver(segment, snapshot, index)
          continue
        }
        throw error.naming(segment)
      }
      let limit = segment.isSealed ? segment.nextSequence : snapshot.endSequence
      let result = try step(file, from: sequence, limit: limit, maxBytes: maxBytes, &given, body)
      switch result {
      case .stopped: return given.records
      case .damaged(let partition, let offset, let reason, let next):
        let end = try endOfDamage(file, partition, offset, next, segment, snapshot)
        if damagePolicy == .refuse {
          throw EventLogError.damaged(
            offset..<end, reason, topic: state.name, partition: partition, path: file.path)
        }
        skip(partition, offset..<end, reason, file.path)
        place?.sequence = next
      case .ended:
        guard segment.isSealed, index + 1 < snapshot.segments.count else { return given.records }
        try passOver(segment, snapshot, index)
      }
    }
  }

  private struct Progress {
    var records = 0
    var bytes = 0
  }

  private enum Step {
    case stopped, ended
    /// Nothing from `offset` to the partition's next batch, searched from the sequence `next` on, can be read.
    case damaged(partition: Int, offset: Int64, reason: String, next: UInt64)
  }

  /// Reads one segment from `sequence` on, in one read transaction.
  private func step(
    _ file: SegmentFile, from start: UInt64, limit: UInt64, maxBytes: Int, _ given: inout Progress,
    _ body: (LogBatch) throws -> Bool
  ) throws -> Step {
    if start >= limit { return .ended }
    do {
      return try file.environment.read { transaction in
        try transaction.withCursor(file.batches) { cursor in
          var isThere = unsafe try BatchKey(sequence: start, partition: 0, offset: 0).withBytes {
            unsafe try cursor.seek(atLeast: $0)
          }
          while isThere, let key = unsafe BatchKey(cursor.key), key.sequence < limit {
            place?.sequence = key.sequence
            if nextOffsets.indices.contains(key.partition), nextOffsets[key.partition] >= 0 {
              let wanted = nextOffsets[key.partition]
              if key.offset > wanted {
                return .damaged(
                  partition: key.partition, offset: wanted, reason: "the log has no batch with them",
                  next: key.sequence)
              }
              let goesOn = try unsafe give(key, cursor.value, from: wanted, &given, body)
              if let reason = goesOn.fault {
                return .damaged(
                  partition: key.partition, offset: max(wanted, key.offset), reason: reason, next: key.sequence + 1)
              }
              place?.sequence = key.sequence + 1
              if !goesOn.more || (given.bytes >= maxBytes && given.records > 0) { return .stopped }
            }
            isThere = try cursor.next()
          }
          place?.sequence = limit
          return .ended
        }
      }
    } catch let error as LMDBError {
      throw EventLogError(error, "reading a segment failed", topic: state.name)
    }
  }

  /// Checks one batch and gives it to `body`, unless it lies before the wanted offset.
  private func give(
    _ key: BatchKey, _ value: UnsafeRawBufferPointer, from wanted: Int64, _ given: inout Progress,
    _ body: (LogBatch) throws -> Bool
  ) throws -> (more: Bool, fault: String?) {
    if key.offset < wanted, value.count >= BatchHeader.size {
      // Not ours yet: passed over unread, unless its header says more than it can hold.
      let last = unsafe BatchHeader(value).lastOffset
      if last < wanted && last >= key.offset { return (true, nil) }
    }
    let isTrusted = checksums != .verify
    switch unsafe opener.open(
      value, partition: key.partition, offset: key.offset, from: wanted, isTrusted: isTrusted)
    {
    case .damaged(let reason): return (true, reason)
    case .batch(let batch):
      let more = try body(batch)
      if case .damaged(let reason) = opener.takeFault() { return (true, reason) }
      nextOffsets[key.partition] = batch.lastOffset + 1
      given.records += batch.count
      given.bytes += batch.byteCount
      return (more, nil)
    }
  }

  func noteSkipped(_ damage: LogDamage) { skipped.append(damage) }
}
