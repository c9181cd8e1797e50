internal import Bytes
internal import Records

/// Primary keys and index entries as bytes: `KeyEncoding` applied to cells.
enum KeyCoding {
  /// Appends the canonical key bytes of a value of `type`; as the last part of a key.
  static func append(_ cell: Cell, _ type: ColumnType, to key: inout ByteBuffer) {
    switch type {
    case .bool: KeyEncoding.append(cell.integer != 0, to: &key)
    case .int8, .int16, .int32, .int64, .timestamp: KeyEncoding.append(cell.integer, to: &key)
    case .uint8, .uint16, .uint32: KeyEncoding.append(UInt64(bitPattern: cell.integer), to: &key)
    case .uint64: KeyEncoding.append(UInt64(bitPattern: cell.integer) ^ (1 << 63), to: &key)
    case .float, .double: KeyEncoding.append(cell.real, to: &key)
    case .string, .bytes, .uuid, .opaque: unsafe KeyEncoding.append(cell.bytes, to: &key)
    }
  }

  /// The value of `type` whose key bytes these are; byte values point into `key`.
  static func cell(of key: UnsafeRawBufferPointer, _ type: ColumnType) throws(ViewError) -> Cell {
    switch type {
    case .bool:
      guard key.count == 1 else { throw badKey(type) }
      return unsafe Cell(integer: key[0] == 0 ? 0 : 1)
    case .int8, .int16, .int32, .int64, .timestamp, .uint64:
      guard key.count == 8 else { throw badKey(type) }
      return unsafe Cell(integer: Int64(bitPattern: key.big(UInt64.self, at: 0) ^ (1 << 63)))
    case .uint8, .uint16, .uint32:
      guard key.count == 8 else { throw badKey(type) }
      return unsafe Cell(integer: Int64(bitPattern: key.big(UInt64.self, at: 0)))
    case .float, .double:
      guard key.count == 8 else { throw badKey(type) }
      let word = unsafe key.big(UInt64.self, at: 0)
      return Cell(word: word >> 63 == 1 ? word ^ (1 << 63) : ~word, count: 0, isNull: false)
    case .uuid:
      guard key.count == 16 else { throw badKey(type) }
      return unsafe Cell(bytes: key)
    case .string, .bytes, .opaque: return unsafe Cell(bytes: key)
    }
  }

  private static func badKey(_ type: ColumnType) -> ViewError {
    ViewError(.damaged, "a primary key is no \(type)")
  }

  // MARK: Index entries

  /// Byte values above this length are indexed by their first `keptBytes` and a hash; what is found is compared again.
  static let longValue = 255
  static let keptBytes = 240

  /// Appends the part of an index entry's key that stands for the value of one column.
  static func appendIndexed(_ cell: Cell, _ type: ColumnType, to key: inout ByteBuffer) {
    if cell.isNull {
      KeyEncoding.appendNull(to: &key)
      return
    }
    KeyEncoding.appendPresent(to: &key)
    guard type.storage == .bytes else { return append(cell, type, to: &key) }
    let bytes = unsafe cell.bytes
    if bytes.count <= longValue { return unsafe KeyEncoding.appendPart(bytes, to: &key) }
    unsafe KeyEncoding.appendPart(bytes.slice(0, keptBytes), to: &key)
    unsafe key.append(bigEndian: KeyHash(bytes).value)
  }

  /// Appends the lowest bytes that an entry of a value at or above `cell` can begin with.
  static func appendLowerBound(_ cell: Cell, _ type: ColumnType, to key: inout ByteBuffer) {
    guard isPrefixOnly(cell, type) else { return appendIndexed(cell, type, to: &key) }
    KeyEncoding.appendPresent(to: &key)
    unsafe KeyEncoding.appendPart(cell.bytes.slice(0, keptBytes), to: &key)
  }

  /// Appends bytes such that every entry of a value at or below `cell` is below all keys that follow those that begin
  /// with them.
  static func appendUpperPrefix(_ cell: Cell, _ type: ColumnType, to key: inout ByteBuffer) {
    guard isPrefixOnly(cell, type) else { return appendIndexed(cell, type, to: &key) }
    KeyEncoding.appendPresent(to: &key)
    unsafe KeyEncoding.appendPart(cell.bytes.slice(0, keptBytes), to: &key)
    // Without the end mark, so that longer values of the same beginning are taken in.
    key.truncate(to: key.count - 2)
  }

  /// Appends the bytes with which entries of values begin that begin with `cell`.
  static func appendPrefix(_ cell: Cell, to key: inout ByteBuffer) {
    KeyEncoding.appendPresent(to: &key)
    unsafe KeyEncoding.appendPart(cell.bytes.slice(0, min(Int(cell.count), keptBytes)), to: &key)
    key.truncate(to: key.count - 2)
  }

  /// Whether other values share the bytes that the index keeps of `cell`, out of order.
  private static func isPrefixOnly(_ cell: Cell, _ type: ColumnType) -> Bool {
    unsafe !cell.isNull && type.storage == .bytes && cell.bytes.count > keptBytes
  }
}
