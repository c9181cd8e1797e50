public import Bytes
public import Records

extension StateTableBacking {
  /// Keeps values with the time of their writing: eight bytes, little-endian, behind the value's own. Without a time
  /// to live they are stored as plain values are.
  @inlinable
  convenience init<Element>(aged state: StateTable<Element>, isStamped: Bool, snapshot: StateSnapshot)
  where Value == Aged<Element> {
    let lookup = StateLookup(state.space, state.table, snapshot)
    unsafe self.init(
      lookup,
      loader: { key, hash in
        guard let bytes = try unsafe lookup.find(key, hash: hash) else { return nil }
        return try unsafe state.decodeAged(bytes, isStamped: isStamped)
      },
      sealer: { changes in
        let codec = state.codec
        let schemaNumber = state.schemaNumber
        var sealed = SealedChanges(count: changes.count, valueHint: (codec.fixedSize ?? 32) + 9)
        try unsafe changes.visit { group, key, value in
          try unsafe sealed.append(keyGroup: group, key: key, isTombstone: value == nil) { buffer in
            if let value {
              buffer.append(schemaNumber)
              try codec.encode(value.value, into: &buffer)
              if isStamped { buffer.append(value.stamp) }
            }
          }
        }
        return SealedTablePart(sealed, space: state.space, table: state.table)
      })
  }
}

extension StateTable {
  @inlinable
  func decodeAged(_ bytes: UnsafeRawBufferPointer, isStamped: Bool) throws -> Aged<Value> {
    guard isStamped else { return try unsafe Aged(decode(bytes), 0) }
    guard bytes.count >= 9 else { throw Self.tooShort(table, bytes.count) }
    let stamp = unsafe bytes.little(Int64.self, at: bytes.count - 8)
    return try unsafe Aged(decode(bytes.slice(0, bytes.count - 8)), stamp)
  }
}
