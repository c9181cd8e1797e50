import Bytes
import LMDB

/// Writes the segment that takes the place of others: what is left of their batches, joined to larger ones.
///
/// Each batch of it stands for one or more whole batches of its partition, so that there are never more of them than
/// there were, and their sequences fit into the range that the replaced segments had. Memory: the batches being filled
/// take `openBytes` at most, plus one; what waits to be written `commitBytes`, plus one batch.
final class ReplacementSegment {
  /// A batch is closed before it would become larger than this in bytes, …
  static let largestBatch = 256 << 10
  /// … unless it is smaller than this yet.
  static let smallestBatch = 64 << 10
  static let openBytes = 32 << 20
  static let commitBytes = 4 << 20

  /// A batch being filled, with what it is known by.
  private final class Filling {
    var batch = OpenBatch()
    var distances = ByteBuffer(capacity: 64)
    /// When its tombstones were first compacted; nil without any.
    var tombstonesSince: Int64?
    var appendedAt = Int64.min
  }

  private struct Waiting {
    var key: BatchKey
    var header: BatchHeader
    var bytes: Range<Int>
  }

  private(set) var record: SegmentRecord
  private let file: SegmentFile
  private let level: Int
  private let compressor = BatchCompressor()
  private var tail: SegmentTail
  private var filling: [Int: Filling] = [:]
  private var free: [Filling] = []
  private var fillingBytes = 0
  /// Per partition where the next batch begins, and the last offset that has been gone over.
  private var firsts: [Int64]
  private var lasts: [Int64]
  private var waiting: [Waiting] = []
  private var waitingBytes = ByteBuffer(capacity: commitBytes)
  private var scratch = ByteBuffer(capacity: largestBatch)

  /// Creates the file of `record`, which says what it replaces.
  init(_ record: SegmentRecord, path: String, topic: String, mapBytes: Int, level: Int) throws(EventLogError) {
    self.record = record
    self.level = level
    file = try SegmentFile.create(path, record, producers: ProducerTable(), topic: topic, mapBytes: mapBytes)
    tail = SegmentTail(beginning: record)
    firsts = record.starts
    lasts = record.starts.map { $0 - 1 }
    self.record.records = 0
    self.record.batches = 0
    self.record.oldestTombstones = .max
  }

  /// Before the records of a batch: `header` is its own, `tombstonesSince` when tombstones that it may have were first
  /// compacted.
  func begin(_ header: BatchHeader, bytes: Int, tombstonesSince: Int64?) throws {
    let partition = header.partition
    if let open = filling[partition] {
      let size = open.batch.byteCount + open.distances.count
      let isLarge = size >= Self.smallestBatch && size + bytes > Self.largestBatch
      let isOfOthers = open.tombstonesSince != nil && tombstonesSince != nil && open.tombstonesSince != tombstonesSince
      if isLarge || isOfOthers || open.batch.count + header.count > OpenBatch.maximumCount { try close(partition) }
    }
    // In what the header says the last offset is not before the first one.
    if header.lastOffset - firsts[partition] >= BatchHeader.maximumSpan { try close(partition) }
    if fillingBytes > Self.openBytes { try closeLargest() }
  }

  /// Adds a record of the batch that was begun.
  func add(_ record: LogRecord, partition: Int, tombstonesSince: Int64?) {
    let open = filling[partition] ?? begin(partition)
    let before = open.batch.byteCount
    open.distances.append(UInt32(truncatingIfNeeded: record.offset - firsts[partition]))
    unsafe open.batch.append(
      key: record.key, hasKey: record.hasKey, value: record.value, timestamp: record.timestamp.microseconds,
      headers: record.headerBytes.isEmpty ? [] : [UInt8](record.headerBytes))
    if let tombstonesSince { open.tombstonesSince = tombstonesSince }
    fillingBytes += open.batch.byteCount - before + 4
    self.record.records += 1
  }

  /// Behind the records of a batch.
  func end(_ header: BatchHeader) throws {
    lasts[header.partition] = header.lastOffset
    if let open = filling[header.partition], !header.flags.contains(.compacted) {
      open.appendedAt = max(open.appendedAt, header.appendedAt)
    }
  }

  private func begin(_ partition: Int) -> Filling {
    let open = free.popLast() ?? Filling()
    open.batch.reset(partition: partition)
    open.distances.removeAll()
    open.tombstonesSince = nil
    open.appendedAt = .min
    filling[partition] = open
    // About what an empty one takes.
    fillingBytes += 4096
    return open
  }

  private func closeLargest() throws {
    let average = fillingBytes / max(1, filling.count)
    for (partition, open) in filling.sorted(by: { $0.key < $1.key }) where open.batch.byteCount + 4096 >= average {
      try close(partition)
    }
  }

  /// Closes the batch of `partition`: it stands for everything up to the last offset that has been gone over.
  private func close(_ partition: Int) throws {
    let first = firsts[partition]
    let last = lasts[partition]
    let open = filling.removeValue(forKey: partition)
    if last < first { return }
    var header = BatchHeader()
    if let open {
      header = open.batch.header(firstOffset: first)
    } else {
      header.partition = partition
      header.firstOffset = first
      (header.minimumTimestamp, header.maximumTimestamp) = (.max, .min)
    }
    header.lastOffset = last
    let isDense = Int64(header.count) == last - first + 1 && open?.tombstonesSince == nil
    header.flags = isDense ? [] : [.compacted]
    header.appendedAt = isDense ? open?.appendedAt ?? .min : open?.tombstonesSince ?? .min
    record.oldestTombstones = min(record.oldestTombstones, open?.tombstonesSince ?? .max)
    record.batches += 1
    firsts[partition] = last + 1
    store(header, open)
    if let open {
      fillingBytes -= open.batch.byteCount - BatchHeader.size + open.distances.count + 4096
      if free.count < 16 && open.batch.byteCount <= 1 << 20 { free.append(open) }
    }
    if waitingBytes.count >= Self.commitBytes { try commit() }
  }

  /// Puts header and content behind what waits to be written.
  private func store(_ header: BatchHeader, _ open: Filling?) {
    var header = header
    scratch.removeAll()
    if let open {
      if header.flags.contains(.compacted) { unsafe scratch.append(open.distances.bytes) }
      unsafe scratch.append(open.batch.buffer.bytes.slice(BatchHeader.size, open.batch.byteCount - BatchHeader.size))
    }
    let start = waitingBytes.count
    unsafe waitingBytes.appendUninitialized(BatchHeader.size).initializeMemory(as: UInt8.self, repeating: 0)
    if level > 0, unsafe compressor.compress(scratch.bytes, level: level, into: &waitingBytes) {
      header.flags.insert(.compressed)
    } else {
      unsafe waitingBytes.append(scratch.bytes)
    }
    header.recordBytes = waitingBytes.count - start - BatchHeader.size
    unsafe header.write(
      to: UnsafeMutableRawBufferPointer(rebasing: waitingBytes.mutableBytes[start..<waitingBytes.count]))
    let key = BatchKey(
      sequence: record.firstSequence + UInt64(record.batches) - 1, partition: header.partition,
      offset: header.firstOffset)
    waiting.append(Waiting(key: key, header: header, bytes: start..<waitingBytes.count))
  }

  /// Writes what waits in one synced transaction.
  private func commit() throws {
    if waiting.isEmpty { return }
    try file.environment.write { transaction in
      for batch in waiting {
        let bytes = unsafe waitingBytes.bytes.slice(batch.bytes.lowerBound, batch.bytes.count)
        try unsafe file.put(batch.key, batch.header, bytes, &tail, in: transaction)
      }
    }
    waiting = []
    waitingBytes.removeAll()
  }

  /// Writes the rest. The file is whole and synced then, and closed when this object goes.
  func finish() throws -> SegmentRecord {
    for partition in firsts.indices { try close(partition) }
    try commit()
    record.isSealed = true
    record.bytes = file.environment.usage.bytesUsed
    record.maximumTimestamps = tail.maximumTimestamps
    return record
  }
}
