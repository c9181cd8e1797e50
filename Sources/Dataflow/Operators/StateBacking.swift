import Bytes
import LMDB
import Records
import Tables

/// State in a table of the state file: key group (one byte), key, namespace.
final class TableBacking<Value: Sendable>: KeyedBacking {
  private let table: TableID
  private let space: TableSpace
  private let codec: Codec<Value>
  private let environment: Environment
  private var snapshot: ReadTransaction?
  private var reader: TableReader?
  private var key = ByteBuffer(capacity: 64)

  init(_ table: TableID, _ space: TableSpace, _ codec: Codec<Value>) throws {
    self.table = table
    self.space = space
    self.codec = codec
    environment = space.environment
    try renew()
  }

  func load(_ bytes: UnsafeRawBufferPointer, hash: UInt64) throws -> Value? {
    guard let reader, !reader.isEmpty else { return nil }
    key.removeAll()
    key.append(UInt8(KeyHash(value: hash).keyGroup))
    unsafe key.append(bytes)
    return try environment.read { transaction in
      let reader = try space.reader(table, in: transaction)
      return try unsafe reader.get(key.bytes, in: transaction).map { try unsafe codec.decode($0) }
    }
  }

  func renew() throws {
    reader = try environment.read { try space.reader(table, in: $0) }
  }

  func seal(_ changes: StateChanges<Value>) throws -> any SealedPart {
    var entries: [(key: [UInt8], value: [UInt8]?)] = []
    var buffer = ByteBuffer(capacity: 64)
    try unsafe changes.forEach { group, key, value in
      buffer.removeAll()
      var encoded: [UInt8]?
      switch value {
      case .some(let value):
        try codec.encode(value, into: &buffer)
        encoded = buffer.array
      case .none: break
      }
      unsafe entries.append(([group] + key, encoded))
    }
    return TablePart(entries: entries, table: table, space: space)
  }
}

private struct TablePart: SealedPart {
  let entries: [(key: [UInt8], value: [UInt8]?)]
  let table: TableID
  let space: TableSpace

  func write(in transaction: borrowing WriteTransaction, checkpoint: UInt64) throws {
    var builder = RunBuilder()
    for entry in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      unsafe entry.key.withUnsafeBytes { key in
        if let value = entry.value {
          unsafe value.withUnsafeBytes { unsafe builder.append(key: key, value: $0) }
        } else {
          unsafe builder.append(key: key, value: nil)
        }
      }
    }
    try space.append(builder.finish(), to: table, in: transaction)
  }
}
