package import Bytes
internal import Synchronization
package import Tables

/// The base of a view's table: columnar groups, one lane per family. Immutable: a changed schema is registered anew.
package final class ColumnarFormat: BlockFormat {
  /// The number of the format in a table's state.
  package static let identifier: UInt8 = 1

  package var identifier: UInt8 { Self.identifier }
  package var lanes: Int { schema.definition.families.count }
  package var joinBelow: Int { 16 << 10 }

  let schema: ViewSchema
  private let isBytes: [Bool]
  /// Mergers that nobody uses now.
  private let idle = Mutex<[GroupMerger]>([])

  package init(_ schema: ViewSchema) {
    self.schema = schema
    var isBytes = [Bool](repeating: false, count: Int(schema.definition.nextColumn))
    for column in schema.columns where column.id < schema.definition.nextColumn {
      isBytes[Int(column.id)] = column.storage == .bytes
    }
    self.isBytes = isBytes
  }

  package func isWhole(_ change: Change) -> Bool {
    unsafe change.isTombstone || change.payload.isEmpty || change.payload[0] != RowChange.Kind.upsert.rawValue
  }

  package func combine(_ newer: Change, over older: Change, into buffer: inout ByteBuffer) throws -> Bool {
    if newer.isTombstone { return true }
    try RowChange.combine(
      older: RowChange(older), newer: RowChange(newer), isBytes: { $0 < UInt32(isBytes.count) && isBytes[Int($0)] },
      into: &buffer)
    return false
  }

  package func rewrite(
    lane: Int, blocks: [Block], changes: [Change], into output: inout BlockOutput
  ) throws {
    let merger = idle.withLock { $0.popLast() } ?? GroupMerger(schema: schema, family: UInt16(lane))
    let groups = try blocks.map { try group($0, lane) }
    let decoded = try changes.map { unsafe GroupMerger.Change(key: $0.key, change: try RowChange($0)) }
    unsafe try merger.merge(groups, decoded) { first, last, rows, bytes in
      unsafe output.add(first: first, last: last, entries: rows) { unsafe $0.append(bytes) }
    }
    if lane == 0 { idle.withLock { $0.append(merger) } }
  }

  private func group(_ block: Block, _ lane: Int) throws -> GroupView {
    do {
      return unsafe try VerifiedGroups.shared.group(block.bytes)
    } catch {
      throw damaged(lane, error.message)
    }
  }

  package func entryCount(lane: Int, block: Block) -> Int {
    unsafe block.bytes.count >= GroupLayout.headerSize ? GroupView(checked: block.bytes).rows : 0
  }

  package func verify(lane: Int, block: Block) throws -> (first: [UInt8], last: [UInt8]) {
    let group: GroupView
    do {
      group = unsafe try GroupCheck.check(block.bytes)
    } catch {
      throw damaged(lane, error.message)
    }
    guard group.viewID == schema.definition.id, group.family == UInt16(lane) else {
      throw damaged(lane, "it belongs to view \(group.viewID), family \(group.family)")
    }
    var key = ByteBuffer()
    group.appendKey(0, to: &key)
    let first = key.array
    key.removeAll()
    group.appendKey(group.rows - 1, to: &key)
    return (first, key.array)
  }

  private func damaged(_ lane: Int, _ detail: String) -> TableError {
    TableError(
      .damaged, place: "view \(schema.name), a group of family \(lane)",
      detail: "\(detail); restore it from a backup or rebuild it by replay")
  }
}

extension RowChange {
  /// The row change in a run's entry.
  init(_ change: Change) throws(ViewError) {
    if change.isTombstone {
      self = .delete
    } else {
      self = unsafe try RowChange(change.payload)
    }
  }
}
