public import Bytes
public import Records

extension StateTableBacking {
  /// Keeps a few values of a key as one: schema number, then each value behind its length in 32 bits, little-endian.
  @inlinable
  convenience init<Element>(packed state: StateTable<Element>, snapshot: StateSnapshot) where Value == [Element] {
    let lookup = StateLookup(state.space, state.table, snapshot)
    unsafe self.init(
      lookup,
      loader: { key, hash in
        guard let bytes = try unsafe lookup.find(key, hash: hash) else { return nil }
        let codec = try unsafe state.reader(bytes)
        var values: [Element] = []
        var offset = 1
        while offset < bytes.count {
          guard offset + 4 <= bytes.count else { throw StateTable<Element>.tooShort(state.table, bytes.count) }
          let size = unsafe Int(bytes.little(UInt32.self, at: offset))
          offset += 4
          guard size <= bytes.count - offset else { throw StateTable<Element>.tooShort(state.table, bytes.count) }
          values.append(try unsafe codec.decode(bytes.slice(offset, size)))
          offset += size
        }
        return values
      },
      sealer: { changes in
        let codec = state.codec
        let schemaNumber = state.schemaNumber
        var sealed = SealedChanges(count: changes.count, valueHint: 64)
        try unsafe changes.visit { group, key, values in
          try unsafe sealed.append(keyGroup: group, key: key, isTombstone: values == nil) { buffer in
            guard let values else { return }
            buffer.append(schemaNumber)
            for value in values {
              let start = buffer.count
              buffer.append(0 as UInt32)
              try codec.encode(value, into: &buffer)
              let size = UInt32(truncatingIfNeeded: buffer.count - start - 4)
              unsafe buffer.mutableBytes.storeBytes(of: size.littleEndian, toByteOffset: start, as: UInt32.self)
            }
          }
        }
        return SealedTablePart(sealed, space: state.space, table: state.table)
      })
  }
}
