public import Bytes
public import LMDB
import Synchronization
public import Tables

/// Encoded changes in the order of their sealing: group ‖ key ‖ namespace, then the value's bytes, one behind the
/// other.
///
/// Filled by the subtask in one pass; sorted into a run by whoever writes it.
@usableFromInline
struct SealedChanges: ~Copyable, Sendable {
  @usableFromInline
  struct Entry: BitwiseCopyable, Sendable {
    @usableFromInline var offset: Int
    @usableFromInline var keyCount: UInt32
    /// The size of the value; all bits set for a tombstone.
    @usableFromInline var valueCount: UInt32

    @inlinable
    init(offset: Int, keyCount: UInt32, valueCount: UInt32) {
      self.offset = offset
      self.keyCount = keyCount
      self.valueCount = valueCount
    }
  }

  @inlinable static var tombstone: UInt32 { .max }

  @usableFromInline var data: ByteBuffer
  @usableFromInline var entries: [Entry] = []

  @inlinable
  init(count: Int, valueHint: Int) {
    data = ByteBuffer(capacity: count * (16 + valueHint))
    entries.reserveCapacity(count)
  }

  /// Appends one change; `value` appends the value's bytes and is not called for a tombstone.
  @inlinable
  mutating func append(
    keyGroup: UInt8, key: UnsafeRawBufferPointer, isTombstone: Bool, value: (inout ByteBuffer) throws -> Void
  ) rethrows {
    let offset = data.count
    data.append(keyGroup)
    unsafe data.append(key)
    let keyCount = UInt32(truncatingIfNeeded: data.count &- offset)
    if isTombstone {
      entries.append(Entry(offset: offset, keyCount: keyCount, valueCount: Self.tombstone))
    } else {
      let start = data.count
      try value(&data)
      let valueCount = UInt32(truncatingIfNeeded: data.count &- start)
      entries.append(Entry(offset: offset, keyCount: keyCount, valueCount: valueCount))
    }
  }

  /// The changes as a run. Keys are distinct, as a state's dirty entries are.
  borrowing func sorted() -> Run {
    let order = unsafe KeySort.order(count: entries.count) { unsafe key(entries[$0]) }
    var builder = RunBuilder()
    let bytes = unsafe data.bytes
    let sorted = order.map { entries[Int($0)] }
    var touched: UInt8 = 0
    var start = 0
    while start < sorted.count {
      // The bytes lie in the order of sealing: load some places at once before they are needed one by one.
      let end = min(start + 32, sorted.count)
      for index in start..<end { unsafe touched &+= bytes[sorted[index].offset] }
      for index in start..<end {
        let entry = sorted[index]
        let isTombstone = entry.valueCount == Self.tombstone
        let keyCount = Int(entry.keyCount)
        let value = unsafe bytes.slice(entry.offset + keyCount, isTombstone ? 0 : Int(entry.valueCount))
        unsafe builder.append(key: bytes.slice(entry.offset, keyCount), value: isTombstone ? nil : value)
      }
      start = end
    }
    Touch.keep(UInt64(touched))
    return builder.finish()
  }

  private borrowing func key(_ entry: Entry) -> UnsafeRawBufferPointer {
    unsafe data.bytes.slice(entry.offset, Int(entry.keyCount))
  }
}

/// Sealed changes of one table, on their way to the writer thread: sorted there when they are first written, kept as a
/// run in case the transaction has to be repeated.
@usableFromInline
final class SealedTablePart: SealedPart {
  private let space: TableSpace
  private let table: TableID
  private let changes: SealedChanges
  private let run = Mutex<Run?>(nil)

  @usableFromInline
  init(_ changes: consuming SealedChanges, space: TableSpace, table: TableID) {
    self.space = space
    self.table = table
    self.changes = changes
  }

  /// The encoded bytes of a change, on average.
  var averageBytes: Int { changes.data.count / max(1, changes.entries.count) }

  @usableFromInline
  func write(in transaction: borrowing WriteTransaction, checkpoint: UInt64) throws {
    let sorted = run.withLock { run in
      let sorted = run ?? changes.sorted()
      run = sorted
      return sorted
    }
    try space.append(sorted, to: table, in: transaction)
  }
}
