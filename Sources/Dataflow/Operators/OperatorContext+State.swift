import Bytes
import LMDB
public import Records
import Tables

extension OperatorContext {
  /// The backing of the state called `name` in the store's own tables. Its schema is written down if it is new.
  ///
  /// - Throws: `RecordsError`, naming the field, if what is stored cannot be read as `Value`.
  @inlinable
  public func stateBacking<Value: Record>(_ name: String, of _: Value.Type) throws -> any KeyedBacking<Value> {
    StateTableBacking(try stateTable(name, of: Value.self), snapshot: snapshot)
  }

  /// The table of the state called `name`.
  @inlinable
  func stateTable<Value: Record>(_ name: String, of _: Value.Type) throws -> StateTable<Value> {
    let table = try table(of: name)
    let codec = try Value.recordCodec()
    let space = checkpoints.tables
    return try checkpoints.write { try StateTable(name, in: table, codec: codec, space: space, in: $0) }
  }

  /// Fills `index` with the namespaces (times) of the state called `name` and their keys, of this subtask's key groups.
  @usableFromInline
  func loadNamespaces(of name: String, into index: TimeIndex) throws {
    let table = try table(of: name)
    let groups = keyGroups
    guard let first = groups.first else { return }
    var start = ByteBuffer(capacity: 16)
    start.append(UInt8(first))
    try environment.read { transaction in
      let reader = try checkpoints.tables.reader(table, in: transaction)
      if reader.isEmpty { return }
      try unsafe reader.forEach(from: start.bytes, in: transaction) { key, _ in
        guard key.count >= 9 else {
          throw DataflowError(.damaged, name, "a key of its table is too short; restore the store from a backup")
        }
        if unsafe Int(key[0]) >= groups.upperBound { return false }
        let ordered = unsafe key.big(UInt64.self, at: key.count - 8)
        let hash = unsafe KeyHash(key.slice(1, key.count - 9)).withNamespace(ordered)
        let namespace = Int64(bitPattern: ordered ^ 1 << 63)
        unsafe index.keys(at: namespace).keys.append(key.slice(1, key.count - 1), hash: hash)
        return true
      }
    }
  }
}
