public import Bytes
import Tables

/// Some rows of a state's table in key order, copied out of the snapshot.
@usableFromInline
struct StatePage: ~Copyable {
  @usableFromInline
  struct Row {
    let group: UInt8
    @usableFromInline let key: Range<Int>
    @usableFromInline let value: Range<Int>
  }

  @usableFromInline var data = ByteBuffer(capacity: 256)
  /// Keys without the key group.
  @usableFromInline var rows: [Row] = []
  /// Whether there may be more behind the last row.
  @usableFromInline var isCut = false

  @usableFromInline init() {}

  /// The bytes of a key, without the key group; valid until the page changes.
  @inlinable
  func key(_ row: Int) -> UnsafeRawBufferPointer {
    unsafe data.bytes.slice(rows[row].key.lowerBound, rows[row].key.count)
  }

  @inlinable
  func value(_ row: Int) -> UnsafeRawBufferPointer {
    unsafe data.bytes.slice(rows[row].value.lowerBound, rows[row].value.count)
  }

  mutating func removeAll() {
    data.removeAll()
    rows.removeAll(keepingCapacity: true)
    isCut = false
  }

  /// The row's key group.
  func group(_ row: Int) -> Int { Int(rows[row].group) }

  mutating func append(group: UInt8, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    let start = data.count
    unsafe data.append(key)
    let middle = data.count
    unsafe data.append(value)
    rows.append(Row(group: group, key: start..<middle, value: middle..<data.count))
  }
}

extension StateLookup {
  /// The first `limit` rows with `lower` ≤ group ‖ key < `upper`, or backwards the last ones, as of the last commit
  /// that the subtask has noticed.
  @usableFromInline
  func page(
    from lower: UnsafeRawBufferPointer, to upper: UnsafeRawBufferPointer, reversed: Bool, limit: Int,
    into page: inout StatePage
  ) throws {
    page.removeAll()
    try read { reader, transaction in
      // Begun anew where the snapshot had to be replaced.
      page.removeAll()
      try unsafe reader.forEach(from: lower, to: upper, reverse: reversed, in: transaction) { key, value in
        if page.rows.count == limit {
          page.isCut = true
          return false
        }
        unsafe page.append(group: key[0], key: key.slice(1, key.count - 1), value: value)
        return true
      }
    }
  }
}
