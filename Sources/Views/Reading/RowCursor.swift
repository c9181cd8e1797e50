internal import Bytes

/// One row as a snapshot sees it: changes of the live runs over a row of a group. Reused from row to row.
///
/// Invariant: what it points at lives as long as the transaction it was positioned in; used by one thread.
@safe
package final class RowCursor {
  package let schema: ViewSchema
  private var group: GroupView?
  private var row = 0
  /// The newest first; the last one is whole if the row is not in `group`.
  private var changes: ContiguousArray<RowChange> = []
  private var keyBuffer = ByteBuffer(capacity: 64)
  private var hasKey = false

  init(schema: ViewSchema) { self.schema = schema }

  // MARK: Positioning

  /// Forgets the row.
  func reset() {
    group = nil
    changes.removeAll(keepingCapacity: true)
    hasKey = false
  }

  func push(_ change: RowChange) { changes.append(change) }

  func setBase(_ group: GroupView, _ row: Int) {
    self.group = group
    self.row = row
  }

  func setKey(_ key: UnsafeRawBufferPointer) {
    keyBuffer.removeAll()
    unsafe keyBuffer.append(key)
    hasKey = true
  }

  /// Whether a row is there: a group's, or one that an upsert made.
  var exists: Bool {
    if let last = changes.last, last.kind == .delete { return changes.count > 1 }
    return group != nil || !changes.isEmpty
  }

  // MARK: Reading

  /// The bytes of the primary key; valid until the cursor moves.
  package var key: UnsafeRawBufferPointer {
    if !hasKey, let group {
      keyBuffer.removeAll()
      group.appendKey(row, to: &keyBuffer)
      hasKey = true
    }
    return unsafe keyBuffer.bytes
  }

  /// The value of the column at `position`; byte values live as long as the transaction, those of the primary key until
  /// the cursor moves.
  package func cell(_ position: Int) throws(ViewError) -> Cell {
    if position == 0 { return unsafe try KeyCoding.cell(of: key, schema.columns[0].type) }
    if changes.isEmpty, let group {
      guard let column = group.column(id: schema.columnID(position), hint: position - 1) else {
        return schema.columns[position].initialDefault.cell
      }
      return column.cell(row)
    }
    return try overlaidCell(position)
  }

  private func overlaidCell(_ position: Int) throws(ViewError) -> Cell {
    let id = schema.columnID(position)
    let storage = schema.storage(position)
    var made: RowChange?
    for change in changes {
      if change.kind == .delete { break }
      if let cell = try change.cell(id, storage) { return cell }
      made = change
      if change.kind == .replace { return schema.columns[position].defaultCell(at: change.version) }
    }
    if let group, changes.last?.kind == .upsert {
      return group.column(id: id, hint: position - 1)?.cell(row) ?? schema.columns[position].initialDefault.cell
    }
    return schema.columns[position].defaultCell(at: made?.version ?? 0)
  }
}
