internal import Bytes

/// An entry of a secondary index: its key is the indexed values and behind them the primary key, its value the length
/// of the first part (2 bytes, little-endian).
///
/// Values are in `KeyEncoding`, each behind a mark (0 nil, 1 value); byte values above 255 bytes are cut to 240 and
/// followed by the XXH64 of the whole (8 bytes, big-endian): what an index finds is always compared with the row.
enum IndexEntry {
  /// Indexes have at most this many columns, so that the length fits.
  static let maxColumns = 16

  /// Appends the entry's key for a row; returns the length of the part before the primary key.
  static func append(
    _ columns: [Int], _ schema: ViewSchema, key: UnsafeRawBufferPointer, to buffer: inout ByteBuffer,
    _ cell: (Int) throws -> Cell
  ) rethrows -> Int {
    let start = buffer.count
    for position in columns { KeyCoding.appendIndexed(try cell(position), schema.columns[position].type, to: &buffer) }
    let length = buffer.count - start
    unsafe buffer.append(key)
    return length
  }

  /// The primary key of an entry.
  static func primaryKey(
    _ entry: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ index: IndexDefinition, _ schema: ViewSchema
  ) throws(ViewError) -> UnsafeRawBufferPointer {
    guard value.count == 2, unsafe Int(value.little(UInt16.self, at: 0)) <= entry.count else {
      throw ViewError(
        .damaged, view: schema.name, column: index.name, "an index entry contradicts itself; drop and add the index")
    }
    let length = unsafe Int(value.little(UInt16.self, at: 0))
    return unsafe entry.slice(length, entry.count - length)
  }
}
