internal import Bytes

/// A stretch of a scan: one group and the changes of the live runs that fall into its range. Reused from group to
/// group.
///
/// Invariant: points into the map of the transaction that is scanned; used by one thread.
@safe
final class Segment {
  /// A row that runs changed.
  @safe
  struct Touched {
    let key: UnsafeRawBufferPointer
    /// Its row in the group, or −1.
    let base: Int
    /// The row of the group before which it comes, if it is not there.
    let position: Int
    /// Its changes, the newest first.
    let changes: Range<Int>
  }

  let schema: ViewSchema
  private(set) var group: GroupView?
  /// The rows of the group within the scan's bounds.
  private(set) var rows = 0..<0
  private(set) var touched: ContiguousArray<Touched> = []
  private var changes: ContiguousArray<RowChange> = []
  private var vectors: [ColumnVector?]
  private var isDecoded: [Bool]
  private var keys = ByteBuffer(capacity: 1 << 12)
  private(set) var mask: UnsafeMutablePointer<UInt8>
  private var maskCapacity = GroupLayout.targetRows

  init(schema: ViewSchema) {
    self.schema = schema
    vectors = [ColumnVector?](repeating: nil, count: schema.columns.count)
    isDecoded = [Bool](repeating: false, count: schema.columns.count)
    unsafe mask = .allocate(capacity: maskCapacity)
  }

  deinit { unsafe mask.deallocate() }

  // MARK: Filling

  func begin(_ group: GroupView?, from start: UnsafeRawBufferPointer?, to end: UnsafeRawBufferPointer?) {
    self.group = group
    touched.removeAll(keepingCapacity: true)
    changes.removeAll(keepingCapacity: true)
    for position in isDecoded.indices { isDecoded[position] = false }
    guard let group else {
      rows = 0..<0
      return
    }
    let low = unsafe start.map { unsafe group.lowerBound($0).row } ?? 0
    let high = unsafe end.map { unsafe group.lowerBound($0).row } ?? group.rows
    rows = low..<max(low, high)
    if group.rows > maskCapacity {
      unsafe mask.deallocate()
      maskCapacity = group.rows
      unsafe mask = .allocate(capacity: maskCapacity)
    }
  }

  func push(_ change: RowChange) { changes.append(change) }

  /// Ends the changes of one key, which were pushed newest first since `start`.
  func endKey(_ key: UnsafeRawBufferPointer, from start: Int) {
    let (row, found) = unsafe group?.lowerBound(key, from: touched.last?.position ?? 0) ?? (0, false)
    unsafe touched.append(Touched(key: key, base: found ? row : -1, position: row, changes: start..<changes.count))
  }

  var changeCount: Int { changes.count }

  // MARK: Reading

  /// How many of the rows within bounds the mask selects.
  var selectedCount: Int {
    let mask = unsafe mask
    var count = 0
    for row in rows { count += Int(unsafe mask[row]) }
    return count
  }

  /// Points `cursor` at a touched row; false if it was deleted.
  func position(_ cursor: RowCursor, at row: Touched) -> Bool {
    cursor.reset()
    unsafe cursor.setKey(row.key)
    for index in row.changes { cursor.push(changes[index]) }
    if row.base >= 0, let group { cursor.setBase(group, row.base) }
    return cursor.exists
  }

  /// Points `cursor` at a row of the group that no change touches.
  func position(_ cursor: RowCursor, atBase row: Int) {
    cursor.reset()
    if let group { cursor.setBase(group, row) }
  }

  /// The group's column at a position of the schema; nil for the key and for columns younger than the group.
  func column(_ position: Int) -> GroupColumn? {
    position == 0 ? nil : group?.column(id: schema.columnID(position), hint: position - 1)
  }

  /// All of the group's values of the column at a position of the schema.
  func vector(_ position: Int) -> ColumnVector {
    let vector = vectors[position] ?? ColumnVector()
    vectors[position] = vector
    if isDecoded[position] { return vector }
    isDecoded[position] = true
    guard let group else { return vector }
    if position == 0 {
      decodeKeys(group, vector)
    } else if let column = column(position) {
      vector.decode(column)
    } else {
      vector.fill(schema.columns[position].initialDefault.cell, rows: group.rows)
    }
    return vector
  }

  private func decodeKeys(_ group: GroupView, _ vector: ColumnVector) {
    vector.reset(rows: group.rows)
    keys.removeAll()
    for row in 0..<group.rows { group.appendKey(row, to: &keys) }
    var offset = 0
    for row in 0..<group.rows {
      let count = group.keyCount(row)
      let cell = unsafe try? KeyCoding.cell(of: keys.bytes.slice(offset, count), schema.columns[0].type)
      vector.set(row, cell ?? .null)
      offset += count
    }
  }
}
