internal import Bytes
internal import Tables

/// Rewrites neighbouring groups with the changes that fall into them. Keeps scratch memory: one thread at a time.
///
/// Columns that no change touches are copied as they are when no row came or went; that is most of the work of a merge.
// Invariant of the unchecked conformance: a merger is used by the one thread that took it from the idle ones.
final class GroupMerger: @unchecked Sendable {
  /// A change and its key.
  @safe
  struct Change {
    // Invariant: the bytes live until the merge returns.
    let key: UnsafeRawBufferPointer
    let change: RowChange
  }

  /// Where a row of the result comes from: its row in the old groups, counted through, or −1; its change, or −1.
  struct Origin {
    var base: Int32
    var change: Int32
  }

  let schema: ViewSchema
  let family: UInt16
  let columns: [ViewSchema.Column]
  private var groups: [GroupView] = []
  private var vectors: [ColumnVector] = []
  private var copied: [GroupColumn?] = []
  private let scratch = ColumnVector()
  private var keys = MergedKeys()
  private var origins: [Origin] = []
  private var rowsMoved = false
  private var writer: GroupWriter

  /// A merger for the groups of `family` as `schema` defines them.
  init(schema: ViewSchema, family: UInt16) {
    self.schema = schema
    self.family = family
    // The primary key is kept in the groups' keys.
    columns = schema.columns.dropFirst().filter { $0.definition.family == family }
    writer = GroupWriter(view: schema.definition.id, family: family)
  }

  /// Calls `emit` with every group that takes the place of `groups`, in key order; never, if no row is left. `changes`
  /// are in key order, one per key.
  func merge(
    _ groups: [GroupView], _ changes: [Change],
    emit: (_ first: UnsafeRawBufferPointer, _ last: UnsafeRawBufferPointer, _ rows: Int, UnsafeRawBufferPointer)
      throws -> Void
  ) throws {
    self.groups = groups
    rowsMoved = groups.count != 1
    collectRows(changes)
    if origins.isEmpty { return }
    keys.collect(origins, groups, changes)
    while vectors.count < columns.count { vectors.append(ColumnVector()) }
    copied = [GroupColumn?](repeating: nil, count: columns.count)
    for (position, column) in columns.enumerated() {
      if !rowsMoved, let old = groups[0].column(id: column.id, hint: position), old.typeCode == column.type.rawValue,
        !isTouched(column, changes)
      {
        copied[position] = old
      } else {
        try fill(position, changes)
      }
    }
    var start = 0
    while start < origins.count {
      let parts = (origins.count - start + GroupLayout.targetRows - 1) / GroupLayout.targetRows
      let end = keys.separableEnd(atLeast: start + (origins.count - start + parts - 1) / parts)
      unsafe try encode(start..<end, emit)
      start = end
    }
  }

  // MARK: Which rows

  private func collectRows(_ changes: [Change]) {
    origins.removeAll(keepingCapacity: true)
    var index = 0
    var offset = 0
    for (number, group) in groups.enumerated() {
      let last = group.rows - 1
      var next = 0
      while index < changes.count {
        let change = changes[index]
        let (row, found) = unsafe group.lowerBound(change.key, from: next)
        // Behind the last row of this group: the change belongs to the next one, if there is one.
        if row > last, number + 1 < groups.count { break }
        appendBase(next..<row, offset)
        next = found ? row + 1 : row
        add(change, index, base: found ? offset + row : -1)
        index += 1
      }
      appendBase(next..<group.rows, offset)
      offset += group.rows
    }
    while index < changes.count {
      add(changes[index], index, base: -1)
      index += 1
    }
  }

  private func appendBase(_ rows: Range<Int>, _ offset: Int) {
    for row in rows { origins.append(Origin(base: Int32(offset + row), change: -1)) }
  }

  private func add(_ change: Change, _ index: Int, base: Int) {
    switch change.change.kind {
    case .delete: if base >= 0 { rowsMoved = true }
    case .upsert:
      if base < 0 { rowsMoved = true }
      origins.append(Origin(base: Int32(base), change: Int32(index)))
    case .replace:
      rowsMoved = true
      origins.append(Origin(base: -1, change: Int32(index)))
    }
  }

  // MARK: Which values

  private func isTouched(_ column: ViewSchema.Column, _ changes: [Change]) -> Bool {
    for change in changes where change.change.sets(column.id) { return true }
    return false
  }

  private func fill(_ position: Int, _ changes: [Change]) throws(ViewError) {
    let vector = vectors[position]
    let column = columns[position]
    if !rowsMoved, let old = groups[0].column(id: column.id, hint: position) {
      vector.decode(old)
    } else {
      vector.reset(rows: origins.count)
      var offset = 0
      var row = 0
      for group in groups {
        let old = group.column(id: column.id, hint: position)
        if let old { scratch.decode(old) }
        let end = offset + group.rows
        while row < origins.count, Int(origins[row].base) < end {
          let base = Int(origins[row].base)
          if base >= 0 { vector.set(row, old == nil ? column.initialDefault.cell : scratch.cell(base - offset)) }
          row += 1
        }
        offset = end
      }
    }
    for row in 0..<origins.count where origins[row].change >= 0 {
      let change = changes[Int(origins[row].change)].change
      if let cell = try change.cell(column.id, column.storage) {
        vector.set(row, cell)
      } else if origins[row].base < 0 {
        vector.set(row, column.defaultCell(at: change.version))
      }
    }
  }

  // MARK: Writing

  private func encode(
    _ range: Range<Int>,
    _ emit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, Int, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard range.count <= GroupLayout.maxRows else {
      throw TableError(
        .inseparableBlocks, place: "view \(schema.name)",
        detail: "\(range.count) primary keys share their first \(Fence.maximumCount) bytes; use shorter keys")
    }
    writer.begin(keys, range, columns: columns.count)
    let isWhole = range.count == origins.count
    for (position, column) in columns.enumerated() {
      if let old = copied[position] {
        if isWhole {
          writer.copy(old, position)
          continue
        }
        vectors[position].decode(old)
      }
      writer.append(vectors[position], range, position, id: column.id, type: column.type)
    }
    writer.finish(rows: range.count)
    if writer.count > GroupLayout.targetSize, range.count > 1 {
      let parts = min((writer.count + GroupLayout.targetSize - 1) / GroupLayout.targetSize, range.count)
      let end = keys.separableEnd(atLeast: range.lowerBound + range.count / parts)
      if end < range.upperBound {
        unsafe try encode(range.lowerBound..<end, emit)
        return unsafe try encode(end..<range.upperBound, emit)
      }
    }
    unsafe try writer.withBytes { unsafe try emit(keys[range.lowerBound], keys[range.upperBound - 1], range.count, $0) }
  }
}
