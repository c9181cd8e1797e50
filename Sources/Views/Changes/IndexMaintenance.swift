internal import Bytes
internal import LMDB
internal import Tables

/// The changes of a view's index tables that follow from changes of its rows.
///
/// Reads the old row of every change (an upsert that does not set an indexed column may still make a row), in key
/// order.
struct IndexMaintenance: ~Copyable {
  private let schema: ViewSchema
  private var indexes: [(definition: IndexDefinition, columns: [Int], changes: EntryChanges)] = []
  private var old = ByteBuffer(capacity: 256)
  private var new = ByteBuffer(capacity: 256)

  init(_ schema: ViewSchema, only: IndexDefinition? = nil) {
    self.schema = schema
    for index in schema.definition.indexes where only == nil || index.id == only?.id {
      indexes.append((index, index.columns.compactMap { schema.position(of: $0) }, EntryChanges()))
    }
  }

  var isEmpty: Bool { indexes.isEmpty }

  /// Notes what becomes of the entries of one row: `before` is the row as stored.
  mutating func note(
    key: UnsafeRawBufferPointer, _ change: RowChange, before: RowCursor?, after: RowCursor
  ) throws {
    after.reset()
    unsafe after.setKey(key)
    after.push(change)
    for index in indexes.indices {
      let columns = indexes[index].columns
      let changes = indexes[index].changes
      var oldLength: Int?
      old.removeAll()
      new.removeAll()
      if let before {
        oldLength = unsafe try IndexEntry.append(columns, schema, key: key, to: &old) { try before.cell($0) }
      }
      if change.kind == .delete {
        if oldLength != nil { unsafe changes.remove(old.bytes) }
        continue
      }
      let length = unsafe try IndexEntry.append(columns, schema, key: key, to: &new) { position in
        if position == 0 { return try after.cell(0) }
        if let cell = try change.cell(schema.columnID(position), schema.storage(position)) { return cell }
        if change.kind == .upsert, let before { return try before.cell(position) }
        return try after.cell(position)
      }
      if oldLength == length, unsafe old.bytes.compare(new.bytes) == 0 { continue }
      if oldLength != nil { unsafe changes.remove(old.bytes) }
      unsafe changes.insert(new.bytes, length)
    }
  }

  /// Notes the entries of a row that no index has yet.
  mutating func insert(_ row: RowCursor) throws {
    for index in indexes.indices {
      new.removeAll()
      let length = unsafe try IndexEntry.append(indexes[index].columns, schema, key: row.key, to: &new) {
        try row.cell($0)
      }
      unsafe indexes[index].changes.insert(new.bytes, length)
    }
  }

  /// Appends a run to each index that changed.
  func write(_ tables: TableSpace, in transaction: borrowing WriteTransaction) throws {
    for index in indexes { try tables.append(index.changes.run(), to: index.definition.table, in: transaction) }
  }
}

/// Entries to add to and to remove from one index.
private final class EntryChanges {
  private struct Entry {
    var prefix: UInt64
    var offset: Int
    var count: Int32
    /// The length of the indexed part, or −1 for an entry to be removed.
    var length: Int32
  }

  private var bytes = ByteBuffer(capacity: 1 << 10)
  private var entries: [Entry] = []

  func insert(_ entry: UnsafeRawBufferPointer, _ length: Int) { unsafe add(entry, Int32(length)) }
  func remove(_ entry: UnsafeRawBufferPointer) { unsafe add(entry, -1) }

  private func add(_ entry: UnsafeRawBufferPointer, _ length: Int32) {
    var prefix: UInt64 = 0
    for index in 0..<8 { prefix = unsafe prefix << 8 | (index < entry.count ? UInt64(entry[index]) : 0) }
    entries.append(Entry(prefix: prefix, offset: bytes.count, count: Int32(entry.count), length: length))
    unsafe bytes.append(entry)
  }

  /// The run of the changes, by key. An entry is never both removed and added: a row has one change.
  func run() -> Run {
    let bytes = unsafe bytes.bytes
    entries.sort { left, right in
      if left.prefix != right.prefix { return left.prefix < right.prefix }
      return unsafe bytes.slice(left.offset, Int(left.count)).compare(bytes.slice(right.offset, Int(right.count))) < 0
    }
    var builder = RunBuilder()
    for entry in entries {
      let key = unsafe bytes.slice(entry.offset, Int(entry.count))
      if entry.length < 0 {
        unsafe builder.append(key: key, value: nil)
      } else {
        unsafe withUnsafeBytes(of: UInt16(truncatingIfNeeded: entry.length).littleEndian) {
          unsafe builder.append(key: key, value: $0)
        }
      }
    }
    return builder.finish()
  }
}
