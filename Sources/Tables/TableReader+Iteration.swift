import Bytes
public import LMDB

extension TableReader {
  /// Calls `body` with key and value of every row with `start` ≤ key < `end`, in bytewise key order or against it,
  /// until it returns false. For tables of the default format.
  ///
  /// - Throws: `damaged` where it meets damage; what `body` throws.
  public func forEach<T: ReadableTransaction & ~Copyable>(
    from start: UnsafeRawBufferPointer? = nil, to end: UnsafeRawBufferPointer? = nil, reverse: Bool = false,
    in transaction: borrowing T, _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var merge = unsafe reverse ? RunMerge(runs, before: end) : RunMerge(runs, atLeast: start)
    try transaction.withCursor(pages.blocks) { cursor in
      var base = BaseRows(self, reverse: reverse)
      try unsafe base.start(&cursor, at: reverse ? end : start)
      var versions: [Change] = []
      while true {
        let change = try next(&merge, &base, &cursor, &versions, reverse: reverse)
        guard let change else { return }
        if reverse {
          if let start = unsafe start, unsafe change.key.compare(start) < 0 { return }
        } else {
          if let end = unsafe end, unsafe change.key.compare(end) >= 0 { return }
        }
        if let value = unsafe change.value, unsafe try !body(change.key, value) { return }
      }
    }
  }

  /// The newest change of the next key of runs and base together.
  private func next(
    _ merge: inout RunMerge, _ base: inout BaseRows, _ cursor: inout Cursor, _ versions: inout [Change], reverse: Bool
  ) throws -> Change? {
    guard let change = merge.current else {
      defer { base.isTaken = true }
      return try base.current(&cursor)
    }
    if let row = try base.current(&cursor) {
      let order = unsafe row.key.compare(change.key)
      if order != 0 && (order < 0) != reverse {
        base.isTaken = true
        return row
      }
      if order == 0 { base.isTaken = true }
    }
    merge.take(into: &versions)
    return change
  }
}

/// Walks the rows of the base's blocks.
private struct BaseRows: ~Copyable {
  private let reader: TableReader
  private let reverse: Bool
  private let walk: BlockWalk
  private var pack: PackView?
  private var index = 0
  /// Set when the current row was used: the next call of `current` moves on.
  var isTaken = false

  init(_ reader: TableReader, reverse: Bool) {
    self.reader = reader
    self.reverse = reverse
    walk = BlockWalk(reader.table, 0)
  }

  /// To the first row at or after `key`, or backwards to the last before it; nil: to the first or the last of all.
  mutating func start(_ cursor: inout Cursor, at key: UnsafeRawBufferPointer?) throws {
    guard try unsafe walk.start(&cursor, reader.pages, at: key, reverse: reverse) else { return }
    let pack = try pack(cursor)
    self.pack = pack
    if let key = unsafe key {
      index = unsafe pack.lowerBound(key) - (reverse ? 1 : 0)
    } else {
      index = reverse ? pack.count - 1 : 0
    }
  }

  private func pack(_ cursor: borrowing Cursor) throws -> PackView {
    try unsafe reader.pages.pack(cursor.value, reader.table, walk.block(cursor)?.place ?? "")
  }

  /// The row at the position, after moving on from one that was taken.
  mutating func current(_ cursor: inout Cursor) throws -> Change? {
    if isTaken {
      index += reverse ? -1 : 1
      isTaken = false
    }
    while let pack, index < 0 || index >= pack.count {
      if try walk.move(&cursor, reverse: reverse) {
        let moved = try self.pack(cursor)
        self.pack = moved
        index = reverse ? moved.count - 1 : 0
      } else {
        self.pack = nil
      }
    }
    return pack?.entry(index)
  }
}
