public import Bytes
import LMDB
public import Records
import Tables

/// Keeps a `KeyedState` in a table of the state file.
@safe
public final class StateTableBacking<Value>: KeyedBacking {
  private let state: StateTable<Value>
  private let snapshot: StateSnapshot
  private var reader: TableReader?
  // Made in inlinable code, so that the loop over the changes is specialised where the type is known.
  private let sealer: (StateChanges<Value>) throws -> any SealedPart
  private var key = ByteBuffer(capacity: 64)

  /// - Parameters:
  ///   - state: the open table.
  ///   - snapshot: shared by the states of the subtask.
  @inlinable
  public convenience init(_ state: StateTable<Value>, snapshot: StateSnapshot) {
    self.init(state, snapshot) { changes in
      let codec = state.codec
      let schemaNumber = state.schemaNumber
      var sealed = SealedChanges(count: changes.count, valueHint: (codec.fixedSize ?? 32) + 1)
      try unsafe changes.visit { group, key, value in
        try unsafe sealed.append(keyGroup: group, key: key, isTombstone: value == nil) { buffer in
          if let value {
            buffer.append(schemaNumber)
            try codec.encode(value, into: &buffer)
          }
        }
      }
      return SealedTablePart(sealed, space: state.space, table: state.table)
    }
  }

  @usableFromInline
  init(
    _ state: StateTable<Value>, _ snapshot: StateSnapshot,
    sealer: @escaping (StateChanges<Value>) throws -> any SealedPart
  ) {
    self.state = state
    self.snapshot = snapshot
    self.sealer = sealer
  }

  public func load(_ key: UnsafeRawBufferPointer, hash: UInt64) throws -> Value? {
    try snapshot.read { transaction in
      let reader = try reader(transaction)
      if reader.isEmpty { return nil }
      self.key.removeAll()
      self.key.append(UInt8(truncatingIfNeeded: hash >> 57))
      unsafe self.key.append(key)
      guard let bytes = try unsafe reader.get(self.key.bytes, in: transaction) else { return nil }
      return try unsafe state.decode(bytes)
    }
  }

  private func reader(_ transaction: borrowing ReadTransaction) throws -> TableReader {
    if let reader, reader.transactionID == transaction.id { return reader }
    let made = try state.space.reader(state.table, in: transaction)
    reader = made
    return made
  }

  public func renew() { snapshot.renew() }

  public func seal(_ changes: StateChanges<Value>) throws -> any SealedPart { try sealer(changes) }
}
