internal import Bytes
package import LMDB
internal import Tables

/// A query without the row's type: a condition on columns, and what is to be asked of whole rows.
///
/// Rows come in the order of their primary keys.
package struct RowQuery {
  package var condition: Condition
  /// Asked of rows for which the condition holds.
  package var rowFilter: ((RowCursor) throws -> Bool)?

  package init(condition: Condition = .always(true), rowFilter: ((RowCursor) throws -> Bool)? = nil) {
    self.condition = condition
    self.rowFilter = rowFilter
  }

  /// Calls `body` with each row found until it returns false.
  ///
  /// - Throws: `damaged`; what `body` or the row filter throws.
  package func forEach<T: ReadableTransaction & ~Copyable>(
    _ table: TableView, in transaction: borrowing T, _ body: (RowCursor) throws -> Bool
  ) throws {
    switch AccessPath.choose(condition, table.schema) {
    case .keys(let keys): try forEach(keys, table, in: transaction, body)
    case .scan(let start, let end): try scan(table, start, end, in: transaction, body)
    case .index(let index, let ranges):
      if let keys = try table.keys(of: index, ranges, in: transaction) {
        try forEach(keys, table, in: transaction, body)
      } else {
        try scan(table, nil, nil, in: transaction, body)
      }
    }
  }

  private func forEach<T: ReadableTransaction & ~Copyable>(
    _ keys: [[UInt8]], _ table: TableView, in transaction: borrowing T, _ body: (RowCursor) throws -> Bool
  ) throws {
    for key in keys {
      let goesOn = unsafe try key.withUnsafeBytes { key in
        guard let row = unsafe try table.find(key, in: transaction), try holds(row) else { return true }
        return try body(row)
      }
      if !goesOn { return }
    }
  }

  /// Whether a row is one of the query's.
  func holds(_ row: RowCursor) throws -> Bool {
    guard try condition.holds({ try row.cell($0) }) else { return false }
    guard let rowFilter else { return true }
    return try rowFilter(row)
  }

  private func scan<T: ReadableTransaction & ~Copyable>(
    _ table: TableView, _ start: [UInt8]?, _ end: [UInt8]?, in transaction: borrowing T,
    _ body: (RowCursor) throws -> Bool
  ) throws {
    try forEachSegment(table, start, end, in: transaction) { segment in
      try forEachRow(segment, table, body)
    }
  }

  /// Calls `body` with each stretch, its mask filled with what the condition says of the group's rows.
  func forEachSegment<T: ReadableTransaction & ~Copyable>(
    _ table: TableView, _ start: [UInt8]?, _ end: [UInt8]?, in transaction: borrowing T,
    _ body: (Segment) throws -> Bool
  ) throws {
    unsafe try withBytes(start) { start in
      unsafe try withBytes(end) { end in
        unsafe try table.forEachSegment(from: start, to: end, in: transaction) { segment in
          if segment.group != nil {
            unsafe table.filter.evaluate(condition, segment, into: segment.mask)
            for row in segment.touched where row.base >= 0 { unsafe segment.mask[row.base] = 0 }
          }
          return try body(segment)
        }
      }
    }
  }

  /// The rows of one stretch, those of the group and those of the runs, in key order.
  private func forEachRow(
    _ segment: Segment, _ table: TableView, _ body: (RowCursor) throws -> Bool
  ) throws -> Bool {
    let cursor = table.cursor
    let mask = unsafe segment.mask
    var next = 0
    for row in segment.rows {
      while next < segment.touched.count, segment.touched[next].position <= row {
        let touched = segment.touched[next]
        next += 1
        if segment.position(cursor, at: touched), try holds(cursor), try !body(cursor) { return false }
      }
      if unsafe mask[row] == 0 { continue }
      segment.position(cursor, atBase: row)
      if let rowFilter, try !rowFilter(cursor) { continue }
      if try !body(cursor) { return false }
    }
    while next < segment.touched.count {
      let touched = segment.touched[next]
      next += 1
      if segment.position(cursor, at: touched), try holds(cursor), try !body(cursor) { return false }
    }
    return true
  }
}

extension TableView {
  /// The primary keys, in order, of the rows that an index names in `ranges`; nil if they are so many that reading all
  /// rows is faster.
  func keys<T: ReadableTransaction & ~Copyable>(
    of index: IndexDefinition, _ ranges: [AccessPath.IndexRange], in transaction: borrowing T
  ) throws -> [[UInt8]]? {
    // A row found by key costs as much as some hundreds of rows read in columns.
    let limit = max(2_000, approximateCount / 400)
    var keys: [[UInt8]] = []
    let reader = try indexReader(index)
    for range in ranges {
      unsafe try withBytes(range.low) { low in
        unsafe try withBytes(range.high) { high in
          unsafe try reader.forEach(from: low, to: high, in: transaction) { entry, value in
            unsafe keys.append([UInt8](try IndexEntry.primaryKey(entry, value, index, schema)))
            return keys.count <= limit
          }
        }
      }
      if keys.count > limit { return nil }
    }
    keys.sort { $0.lexicographicallyPrecedes($1) }
    var last = 0
    for index in keys.indices.dropFirst() where keys[index] != keys[last] {
      last += 1
      keys[last] = keys[index]
    }
    if !keys.isEmpty { keys.removeSubrange((last + 1)...) }
    return keys
  }
}

/// Calls `body` with the bytes of an array that may be missing.
private func withBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws -> Void) rethrows {
  guard let bytes else { return try body(nil) }
  unsafe try bytes.withUnsafeBytes { unsafe try body($0) }
}
