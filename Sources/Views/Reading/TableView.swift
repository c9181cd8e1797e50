internal import Bytes
package import LMDB
package import Tables

/// One view as one transaction sees it: schema, live runs, groups. Used by one thread at a time; every call takes the
/// transaction it was made in.
package final class TableView {
  let space: ViewSpace
  package let schema: ViewSchema
  package let reader: TableReader
  private var indexReaders: [UInt32: TableReader] = [:]
  /// The row found last.
  let cursor: RowCursor
  /// The group found last and the keys it may hold, so that neighbouring keys do not look it up again.
  private var lastGroup: GroupView?
  private var lastLower = ByteBuffer(capacity: 64)
  private var lastUpper: [UInt8]?
  private(set) lazy var segment = Segment(schema: schema)
  private(set) lazy var filter = ColumnFilter()

  package init(_ space: ViewSpace, _ schema: ViewSchema, in transaction: borrowing ReadTransaction) throws {
    self.space = space
    self.schema = schema
    cursor = RowCursor(schema: schema)
    reader = try space.tables.reader(schema.definition.families[0].table, in: transaction)
    for index in schema.definition.indexes {
      indexReaders[index.id] = try space.tables.reader(index.table, in: transaction)
    }
  }

  package init(_ space: ViewSpace, _ schema: ViewSchema, in transaction: borrowing WriteTransaction) throws {
    self.space = space
    self.schema = schema
    cursor = RowCursor(schema: schema)
    reader = try space.tables.reader(schema.definition.families[0].table, in: transaction)
    for index in schema.definition.indexes {
      indexReaders[index.id] = try space.tables.reader(index.table, in: transaction)
    }
  }

  /// The table of an index, as the transaction sees it.
  func indexReader(_ index: IndexDefinition) throws(ViewError) -> TableReader {
    if let reader = indexReaders[index.id] { return reader }
    throw ViewError(.unknownIndex, view: schema.name, column: index.name, "the index is not open")
  }

  /// The row of `key`, or nil; valid until the next call.
  ///
  /// - Throws: `damaged`; the errors of the layers below.
  package func find<T: ReadableTransaction & ~Copyable>(
    _ key: UnsafeRawBufferPointer, in transaction: borrowing T
  ) throws -> RowCursor? {
    cursor.reset()
    unsafe cursor.setKey(key)
    if !reader.runs.isEmpty {
      let hash = unsafe KeyHash(key).value
      for run in reader.runs {
        guard let found = unsafe run.find(key, hash: hash) else { continue }
        let change = try RowChange(found)
        cursor.push(change)
        if change.kind != .upsert { return cursor.exists ? cursor : nil }
      }
    }
    if let group = unsafe try group(of: key, in: transaction) {
      let (row, found) = unsafe group.lowerBound(key)
      if found { cursor.setBase(group, row) }
    }
    return cursor.exists ? cursor : nil
  }

  /// The group whose range holds `key`.
  private func group<T: ReadableTransaction & ~Copyable>(
    of key: UnsafeRawBufferPointer, in transaction: borrowing T
  ) throws -> GroupView? {
    if let group = lastGroup, unsafe lastLower.bytes.compare(key) <= 0 {
      guard let upper = lastUpper else { return group }
      if unsafe upper.withUnsafeBytes({ unsafe key.compare($0) < 0 }) { return group }
    }
    if reader.baseEntryCount == 0 { return nil }
    guard let block = unsafe try reader.block(containing: key, in: transaction) else { return nil }
    let group = unsafe try VerifiedGroups.shared.group(block.bytes)
    lastGroup = group
    // Keys between the fence below and the first row are not in the group; looking them up anew is right too.
    lastLower.removeAll()
    group.appendKey(0, to: &lastLower)
    lastUpper = block.fence?.bytes
    return group
  }

  /// The number of rows, at most: rows of groups and entries of runs.
  package var approximateCount: Int { reader.approximateCount }
}
