public import Bytes
public import Records
import Tables

/// Keeps a `KeyedState` in a table of the state file.
///
/// What happens per value is formed in inlinable code, so that it is specialised where the type is known.
@safe
public final class StateTableBacking<Value>: KeyedBacking {
  @usableFromInline let lookup: StateLookup
  private let loader: (UnsafeRawBufferPointer, UInt64) throws -> Value?
  private let sealer: (StateChanges<Value>) throws -> any SealedPart

  /// - Parameters:
  ///   - state: the open table.
  ///   - snapshot: shared by the states of the subtask.
  @inlinable
  public convenience init(_ state: StateTable<Value>, snapshot: StateSnapshot) {
    let lookup = StateLookup(state.space, state.table, snapshot)
    unsafe self.init(
      lookup,
      loader: { key, hash in
        guard let bytes = try unsafe lookup.find(key, hash: hash) else { return nil }
        return try unsafe state.decode(bytes)
      },
      sealer: { changes in
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
      })
  }

  @usableFromInline
  init(
    _ lookup: StateLookup, loader: @escaping (UnsafeRawBufferPointer, UInt64) throws -> Value?,
    sealer: @escaping (StateChanges<Value>) throws -> any SealedPart
  ) {
    self.lookup = lookup
    unsafe self.loader = unsafe loader
    self.sealer = sealer
  }

  public func load(_ key: UnsafeRawBufferPointer, hash: UInt64) throws -> Value? { try unsafe loader(key, hash) }

  public func renew() { lookup.renew() }

  public func seal(_ changes: StateChanges<Value>) throws -> any SealedPart { try sealer(changes) }
}
