import Bytes

/// The changes of one epoch to one table, sorted by key, encoded and ready to be appended: one value per chunk.
///
/// Made on any thread; `TableSpace.append` puts it into a transaction, again if a transaction failed.
public struct Run: Sendable {
  /// Encoded bytes that belong to the run for its life.
  final class Chunk: Sendable {
    let bytes: ByteBuffer

    init(_ bytes: consuming ByteBuffer) { self.bytes = bytes }
  }

  let chunks: [Chunk]
  /// The number of changes.
  public let entryCount: Int
  /// The encoded size in bytes.
  public let byteCount: Int

  public var isEmpty: Bool { chunks.isEmpty }
}

/// Builds a run from changes in key order.
public struct RunBuilder: ~Copyable {
  /// What a chunk may take: 64 pages less LMDB's header. Small enough that free space for it is found, and that the
  /// memory of a transaction is taken in small parts.
  public static let chunkBytes = 64 * 4096 - 16

  private var pack = PackBuilder(isTagged: true)
  private var chunks: [Run.Chunk] = []
  private let limit: Int
  private var entryCount = 0
  private var byteCount = 0
  private var lastKey = ByteBuffer(capacity: 64)

  /// - Parameter chunkBytes: what a chunk may take, unless one change alone takes more.
  public init(chunkBytes: Int = RunBuilder.chunkBytes) { limit = chunkBytes }

  /// The changes appended so far.
  public var count: Int { entryCount }

  /// Appends a change; nil is a tombstone. Keys must come in strictly ascending bytewise order.
  public mutating func append(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    let empty = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    unsafe append(Change(key: key, payload: value ?? empty, isTombstone: value == nil))
  }

  /// Appends a change whose tombstone may carry a payload (for formats of other modules).
  public mutating func append(_ change: Change) {
    precondition(
      unsafe entryCount == 0 || lastKey.bytes.compare(change.key) < 0, "a run's keys must be strictly ascending")
    lastKey.removeAll()
    unsafe lastKey.append(change.key)
    if pack.count > 0 {
      let size = unsafe pack.byteCount(
        adding: change.key.count, change.payload.count, isTombstone: change.isTombstone)
      if size > limit || pack.count == PackBuilder.maximumTaggedCount { closeChunk() }
    }
    pack.append(change, hash: unsafe KeyHash(change.key).value)
    entryCount += 1
  }

  private mutating func closeChunk() {
    var bytes = ByteBuffer(capacity: pack.byteCount)
    pack.finish(into: &bytes)
    byteCount += bytes.count
    chunks.append(Run.Chunk(bytes))
  }

  /// The finished run. Empty if nothing was appended.
  public consuming func finish() -> Run {
    if pack.count > 0 { closeChunk() }
    return Run(chunks: chunks, entryCount: entryCount, byteCount: byteCount)
  }
}
