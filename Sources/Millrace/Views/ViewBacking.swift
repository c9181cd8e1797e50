import Bytes
import Dataflow
import LMDB
import Records
import Views

/// A view as the state of a fold: a key's value is its row.
///
/// One thread at a time. Holds a snapshot from the first miss to the next commit only, so that an idle job pins
/// nothing.
final class ViewBacking<Row: Record>: KeyedBacking {
  private let view: View<Row>
  private let environment: Environment
  private let keys: ViewKeys
  private var snapshot: ViewSnapshot?
  private var reader: ViewReader<Row>?

  init(_ view: View<Row>, _ environment: Environment, _ keys: ViewKeys) {
    self.view = view
    self.environment = environment
    self.keys = keys
  }

  func load(_ key: UnsafeRawBufferPointer, hash: UInt64) throws -> Row? {
    do {
      return try unsafe loadOnce(key)
    } catch let error as LMDBError where error.code == .readerExpired {
      // What was evicted is committed: a later snapshot knows it too.
      renew()
      return try unsafe loadOnce(key)
    }
  }

  private func loadOnce(_ key: UnsafeRawBufferPointer) throws -> Row? {
    let reader = try currentReader()
    return try unsafe keys.withViewKey(key) { try unsafe reader.get(keyBytes: $0) }
  }

  private func currentReader() throws -> ViewReader<Row> {
    if let reader { return reader }
    let snapshot = try ViewSnapshot(view.space, try environment.beginRead())
    let made = try snapshot[view]
    self.snapshot = snapshot
    reader = made
    return made
  }

  func renew() {
    reader = nil
    snapshot = nil
  }

  func seal(_ changes: StateChanges<Row>) throws -> any SealedPart {
    let collected = ViewChanges(view)
    try unsafe changes.visit { _, key, row in
      try unsafe keys.withViewKey(key) { key in
        if let row {
          try unsafe collected.upsert(row, keyBytes: key)
        } else {
          unsafe collected.deleteRow(keyBytes: key)
        }
      }
    }
    return ViewPart(changes: try collected.seal())
  }
}

/// Sealed rows as a share of a checkpoint.
struct ViewPart: SealedPart {
  let changes: SealedViewChanges

  func write(in transaction: borrowing WriteTransaction, checkpoint: UInt64) throws {
    try changes.write(in: transaction)
  }
}

/// From the bytes of a stream's key to those of a view's primary key: the same for strings, bytes and 64-bit integers;
/// a view keeps narrower integers in 64 bits.
@safe
struct ViewKeys: Sendable {
  private let widen: (@Sendable (UnsafeRawBufferPointer) throws -> [UInt8])?

  init<Row: Record, Key: KeyEncodable & ColumnConvertible>(_ view: View<Row>, _: Key.Type) {
    if Key.self == String.self || Key.self == [UInt8].self || Key.self == Int64.self || Key.self == Timestamp.self {
      unsafe widen = nil
      return
    }
    let plan = view.plan
    let name = view.name
    unsafe widen = { bytes in
      guard let key = unsafe Key.decodeKey(bytes) else {
        throw StoreError(
          .schemaMismatch, path: "view \(name)",
          detail: "a key of the stream is no \(Key.self); key the stream by the view's primary key")
      }
      return try plan.keyBytes(key.columnValue)
    }
  }

  func withViewKey<R>(_ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    guard let widen = unsafe widen else { return try unsafe body(key) }
    return try unsafe widen(key).withUnsafeBytes { try unsafe body($0) }
  }
}
