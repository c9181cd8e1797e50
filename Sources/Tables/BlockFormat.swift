public import Bytes

/// How a table's base is laid out: how changes to one key combine, and how a block takes them in.
///
/// The default is `PackedBlocks`; views bring columnar groups. Called on the writer thread during sweeps, and by
/// readers to verify; never per record of a batch.
public protocol BlockFormat: Sendable {
  /// Stored with the table: 0 for packed blocks. A table is only merged by the format of its number.
  var identifier: UInt8 { get }

  /// Blocks are kept in this many separate series, each over all keys, at most 256; a sweep rewrites one after another.
  var lanes: Int { get }

  /// An output below this many bytes is joined with the block that follows.
  var joinBelow: Int { get }

  /// Whether older changes of the same key do not matter.
  func isWhole(_ change: Change) -> Bool

  /// Appends the payload of `newer` laid over `older` to `buffer`; returns whether the result is a tombstone. Only
  /// called when `newer` is not whole.
  func combine(_ newer: Change, over older: Change, into buffer: inout ByteBuffer) throws -> Bool

  /// Writes what `blocks` (neighbours in key order; none where the base holds nothing yet) become with `changes`:
  /// sorted, one per key, tombstones included. Neighbouring outputs must be separable (`Fence.separates`).
  ///
  /// Checks the checksums of what it reads; throws `TableError.damaged` rather than to write damage on.
  func rewrite(lane: Int, blocks: [Block], changes: [Change], into output: inout BlockOutput) throws

  /// The number of rows of a block, for statistics.
  func entryCount(lane: Int, block: Block) -> Int

  /// Checks a block wholly: checksum, structure, order of its keys. Returns the first and the last key.
  func verify(lane: Int, block: Block) throws -> (first: [UInt8], last: [UInt8])
}

extension BlockFormat {
  public func isWhole(_ change: Change) -> Bool { true }

  public func combine(_ newer: Change, over older: Change, into buffer: inout ByteBuffer) throws -> Bool {
    unsafe buffer.append(newer.payload)
    return newer.isTombstone
  }
}

/// A stored block and its exclusive upper fence, nil for the last block of its lane. Valid as long as the transaction
/// that it was read in, and in a write transaction until the block's own table changes.
@safe
public struct Block {
  public let bytes: UnsafeRawBufferPointer
  public let fence: Fence?

  init(bytes: UnsafeRawBufferPointer, fence: Fence?) {
    unsafe self.bytes = unsafe bytes
    self.fence = fence
  }
}

/// The blocks that a rewrite makes, in key order.
public struct BlockOutput: ~Copyable {
  struct Part {
    var start: Int
    var count: Int
    var entries: Int
    var first: [UInt8]
    var last: [UInt8]
  }

  private(set) var bytes = ByteBuffer(capacity: 64 << 10)
  private(set) var parts: [Part] = []

  public init() {}

  /// Adds a block of `entries` rows whose keys run from `first` to `last`; `write` appends its bytes.
  public mutating func add(
    first: UnsafeRawBufferPointer, last: UnsafeRawBufferPointer, entries: Int,
    _ write: (inout ByteBuffer) throws -> Void
  ) rethrows {
    let start = bytes.count
    try write(&bytes)
    parts.append(
      Part(
        start: start, count: bytes.count - start, entries: entries, first: unsafe [UInt8](first),
        last: unsafe [UInt8](last)))
  }

  mutating func removeAll() {
    bytes.removeAll()
    parts.removeAll()
  }
}
