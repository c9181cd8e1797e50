import Bytes
import LMDB

/// One live run as a transaction sees it: look-up by hash, and walking in key order.
///
/// Invariant: the packs lie in the file's map and stay for as long as any transaction with the reader's number is open;
/// users pass such a transaction.
@safe
public final class RunReader: @unchecked Sendable {
  let id: UInt64
  /// The number of changes.
  public let entryCount: Int
  /// The encoded size in bytes.
  public let byteCount: Int
  let packs: UnsafeMutablePointer<PackView>
  let packCount: Int

  init<T: ReadableTransaction & ~Copyable>(
    _ record: TableState.RunRecord, _ table: TableID, _ pages: TablePages, in transaction: borrowing T
  ) throws {
    id = record.id
    entryCount = record.entries
    byteCount = record.bytes
    packCount = Int(record.chunks)
    unsafe packs = .allocate(capacity: packCount)
    // Thrown from here on, `deinit` frees the memory.
    var made = 0
    try transaction.withCursor(pages.runs) { cursor in
      while made < record.chunks {
        let key = TableKeys.run(table, record.id, chunk: UInt32(made))
        let place = "run \(record.id), chunk \(made)"
        let isThere = try unsafe key.withUnsafeBytes { wanted in
          try unsafe made == 0 ? cursor.seek(exactly: wanted) : cursor.next() && cursor.key.compare(wanted) == 0
        }
        guard isThere else { throw TableError.damaged(table, place, "it is missing") }
        unsafe (packs + made).initialize(to: try pages.pack(cursor.value, table, place))
        made += 1
      }
    }
  }

  deinit { unsafe packs.deallocate() }

  /// The change of `key`, whose XXH64 is `hash`.
  public func find(_ key: UnsafeRawBufferPointer, hash: UInt64) -> Change? {
    if packCount == 1 { return unsafe packs[0].find(key, hash: hash) }
    let pack = unsafe packIndex(of: key)
    return pack < 0 ? nil : unsafe packs[pack].find(key, hash: hash)
  }

  /// The last pack whose first key is at or before `key`; −1 if all come after it.
  fileprivate func packIndex(of key: UnsafeRawBufferPointer) -> Int {
    var low = 0
    var high = packCount
    while low < high {
      let middle = (low + high) / 2
      if unsafe packs[middle].key(0).compare(key) <= 0 { low = middle + 1 } else { high = middle }
    }
    return low - 1
  }

  /// A cursor at the first change at or after `key`; nil: at the first of all.
  public func cursor(atLeast key: UnsafeRawBufferPointer? = nil) -> RunCursor {
    guard let key = unsafe key else { return RunCursor(self, pack: 0, index: 0) }
    let pack = unsafe max(packIndex(of: key), 0)
    let index = unsafe packCount == 0 ? 0 : packs[pack].lowerBound(key)
    return RunCursor(self, pack: pack, index: index)
  }

  /// A cursor at the last change before `key`; nil: at the last of all.
  public func cursor(before key: UnsafeRawBufferPointer?) -> RunCursor {
    guard packCount > 0, let key = unsafe key else {
      let last = packCount - 1
      return RunCursor(self, pack: last, index: last < 0 ? -1 : unsafe packs[last].count - 1)
    }
    let pack = unsafe max(packIndex(of: key), 0)
    return unsafe RunCursor(self, pack: pack, index: packs[pack].lowerBound(key) - 1)
  }
}

/// A position in a run.
public struct RunCursor {
  let run: RunReader
  private var pack: Int
  private var index: Int
  /// The change at the position; nil beyond either end.
  public private(set) var current: Change?
  /// The first eight bytes of its key as a number, so that most comparisons are one.
  private(set) var prefix: UInt64 = 0

  fileprivate init(_ run: RunReader, pack: Int, index: Int) {
    self.run = run
    self.pack = pack
    self.index = index
    settle()
  }

  /// Moves to the change with the next key.
  public mutating func next() {
    index += 1
    settle()
  }

  /// Moves to the change with the key before.
  public mutating func previous() {
    index -= 1
    settle()
  }

  private mutating func settle() {
    if pack >= 0 && pack < run.packCount {
      if unsafe index >= run.packs[pack].count {
        pack += 1
        index = 0
      } else if index < 0 {
        pack -= 1
        if pack >= 0 { index = unsafe run.packs[pack].count - 1 }
      }
    }
    guard pack >= 0 && pack < run.packCount else {
      current = nil
      return
    }
    let change = unsafe run.packs[pack].entry(index)
    current = change
    prefix = unsafe RunCursor.prefix(of: change.key)
  }

  static func prefix(of key: UnsafeRawBufferPointer) -> UInt64 {
    if key.count >= 8 { return unsafe key.big(UInt64.self, at: 0) }
    var value: UInt64 = 0
    for index in 0..<key.count { value = unsafe value << 8 | UInt64(key[index]) }
    return unsafe key.isEmpty ? 0 : value << UInt64(8 * (8 - key.count))
  }
}
