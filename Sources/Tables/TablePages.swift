import Bytes
import LMDB

/// Where the runs and blocks of every table lie, and what is known of their checksums: all that readers need of a
/// space. They share this and not the space, which remembers them.
final class TablePages: Sendable {
  let runs: Database
  let blocks: Database
  let checksums = VerifiedChecksums()

  init(runs: Database, blocks: Database) {
    self.runs = runs
    self.blocks = blocks
  }

  /// The pack in `bytes`, its checksum checked once per place.
  func pack(
    _ bytes: UnsafeRawBufferPointer, _ table: TableID, _ place: @autoclosure () -> String
  ) throws(TableError) -> PackView {
    let checksum = unsafe PackView.storedChecksum(bytes)
    let isKnown = unsafe checksums.isKnown(bytes, checksum)
    do {
      let pack = unsafe try PackView(bytes, checksum: isKnown)
      if !isKnown { unsafe checksums.remember(bytes, checksum) }
      return pack
    } catch {
      throw error.asTableError(table, place())
    }
  }

  /// Moves `cursor` to the block whose range holds `key`.
  func seek(
    _ cursor: inout Cursor, _ table: TableID, _ lane: Int, containing key: UnsafeRawBufferPointer
  ) throws -> Bool {
    let count = min(key.count, Fence.maximumCount)
    return try unsafe withUnsafeTemporaryAllocation(
      byteCount: TableKeys.blockHead + Fence.maximumCount, alignment: 8
    ) { memory in
      unsafe memory.storeBytes(of: table.value.bigEndian, as: UInt32.self)
      unsafe memory[4] = UInt8(truncatingIfNeeded: lane)
      unsafe memory[5] = 0
      unsafe UnsafeMutableRawBufferPointer(rebasing: memory[TableKeys.blockHead...])
        .copyMemory(from: key.slice(0, count))
      let wanted = unsafe UnsafeRawBufferPointer(memory).slice(0, TableKeys.blockHead + count)
      guard try unsafe cursor.seek(atLeast: wanted) else { return false }
      // A fence equal to the key, or to what of it fits, is the lower bound of the next block.
      if unsafe cursor.key.compare(wanted) == 0, try !cursor.next() { return false }
      return unsafe cursor.key.count >= TableKeys.blockHead
        && cursor.key.slice(0, TableKeys.laneHead).compare(wanted.slice(0, TableKeys.laneHead)) == 0
    }
  }

  func block<T: ReadableTransaction & ~Copyable>(
    _ table: TableID, _ lane: Int, containing key: UnsafeRawBufferPointer, in transaction: borrowing T
  ) throws -> Block? {
    try transaction.withCursor(blocks) { cursor in
      try unsafe seek(&cursor, table, lane, containing: key) ? BlockWalk(table, lane).block(cursor) : nil
    }
  }
}
