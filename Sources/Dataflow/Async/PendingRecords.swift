import Bytes
import LMDB
import Records
import Tables

/// The records of one `asyncMap` on one subtask that are not finished, as the checkpoint has them: what is under way at
/// a barrier is part of it and is called again after a recovery.
///
/// Key in the table: key group (the record's own if the stream is keyed, or else one of the subtask's), number. Value:
/// schema number, timestamp, length of the key and its bytes (all ones: none), the record.
struct PendingRecords<Element: Sendable> {
  /// A record as it was stored.
  struct Stored {
    let row: Row
    let element: Element
    let time: Timestamp
    /// Its key; nil where the stream has none.
    let key: [UInt8]?
  }

  /// Where a record lies in the table.
  struct Row: Hashable {
    let group: UInt8
    let number: UInt64
  }

  private static var noKey: UInt32 { .max }
  private let table: StateTable<Element>
  /// Rows of finished records that the table still has.
  var finished: [Row] = []

  init(_ table: StateTable<Element>) { self.table = table }

  /// What the last checkpoint holds of the key groups `groups`, oldest first.
  func load(_ groups: Range<Int>, _ context: OperatorContext) throws -> [Stored] {
    guard let first = groups.first else { return [] }
    var start = ByteBuffer(capacity: 16)
    start.append(UInt8(truncatingIfNeeded: first))
    var stored: [Stored] = []
    try context.environment.read { transaction in
      let reader = try context.checkpoints.tables.reader(table.table, in: transaction)
      if reader.isEmpty { return }
      try unsafe reader.forEach(from: start.bytes, in: transaction) { key, value in
        guard key.count == 9 else { throw damaged(context) }
        if unsafe Int(key[0]) >= groups.upperBound { return false }
        let row = unsafe Row(group: key[0], number: key.big(UInt64.self, at: 1))
        stored.append(try unsafe decode(value, row, context))
        return true
      }
    }
    return stored.sorted { ($0.row.number, $0.row.group) < ($1.row.number, $1.row.group) }
  }

  private func damaged(_ context: OperatorContext) -> DataflowError {
    DataflowError(.damaged, context.name, "a pending record of its table is cut short; restore the store from a backup")
  }

  private func decode(_ value: UnsafeRawBufferPointer, _ row: Row, _ context: OperatorContext) throws -> Stored {
    guard value.count >= 13 else { throw damaged(context) }
    let time = unsafe Timestamp(microseconds: value.little(Int64.self, at: 1))
    let keyCount = unsafe value.little(UInt32.self, at: 9)
    var offset = 13
    var key: [UInt8]?
    if keyCount != Self.noKey {
      guard Int(keyCount) <= value.count - offset else { throw damaged(context) }
      key = unsafe [UInt8](value.slice(offset, Int(keyCount)))
      offset += Int(keyCount)
    }
    let element = try unsafe table.reader(value).decode(value.slice(offset, value.count - offset))
    return Stored(row: row, element: element, time: time, key: key)
  }

  /// The changes since the last seal: `added` are new, what was finished is deleted. Nil if there are none.
  mutating func seal(_ added: [Stored]) throws -> (any SealedPart)? {
    if added.isEmpty && finished.isEmpty { return nil }
    let table = table
    var sealed = SealedChanges(count: added.count + finished.count, valueHint: 64)
    for stored in added {
      try append(stored.row, to: &sealed) { buffer in
        buffer.append(table.schemaNumber)
        buffer.append(stored.time.microseconds)
        if let key = stored.key {
          buffer.append(UInt32(truncatingIfNeeded: key.count))
          buffer.append(key)
        } else {
          buffer.append(Self.noKey)
        }
        try table.codec.encode(stored.element, into: &buffer)
      }
    }
    for row in finished { try append(row, to: &sealed, value: nil) }
    finished = []
    return SealedTablePart(sealed, space: table.space, table: table.table)
  }

  private func append(
    _ row: Row, to sealed: inout SealedChanges, value: ((inout ByteBuffer) throws -> Void)?
  ) throws {
    var key = ByteBuffer(capacity: 16)
    key.append(bigEndian: row.number)
    try unsafe sealed.append(keyGroup: row.group, key: key.bytes, isTombstone: value == nil) { try value?(&$0) }
  }
}
