internal import Bytes

/// Writes one group after the other into a buffer it keeps: header, keys, columns.
struct GroupWriter: ~Copyable {
  private var buffer = ByteBuffer(capacity: GroupLayout.targetSize)
  private var encoder = ColumnEncoder()
  private let view: UInt32
  private let family: UInt16
  private var columns = 0

  init(view: UInt32, family: UInt16) {
    self.view = view
    self.family = family
  }

  /// The bytes written so far.
  var count: Int { buffer.count }

  /// Calls `body` with the finished group.
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { unsafe try body(buffer.bytes) }

  /// Begins a group of the rows `range` of `keys`.
  mutating func begin(_ keys: borrowing MergedKeys, _ range: Range<Int>, columns: Int) {
    self.columns = columns
    buffer.removeAll()
    let head = unsafe buffer.appendUninitialized(GroupLayout.headerSize + columns * GroupLayout.entrySize)
    unsafe head.initializeMemory(as: UInt8.self, repeating: 0)
    let offset = buffer.count
    let first = unsafe keys[range.lowerBound]
    let last = unsafe keys[range.upperBound - 1]
    var prefix = 0
    let most = min(first.count, last.count)
    while prefix < most, unsafe first[prefix] == last[prefix] { prefix += 1 }
    var isFixed = true
    for row in range where unsafe keys[row].count != first.count { isFixed = false }
    unsafe buffer.append(first.slice(0, prefix))
    if !isFixed {
      var end = 0
      for row in range {
        unsafe end += keys[row].count - prefix
        buffer.append(UInt32(end))
      }
    }
    for row in range { unsafe buffer.append(keys[row].slice(prefix, keys[row].count - prefix)) }
    patch(UInt32(offset), at: 20)
    patch(UInt32(prefix), at: 24)
    patch(isFixed ? UInt32(first.count - prefix) : GroupLayout.variableSuffix, at: 28)
  }

  private mutating func patch<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int) {
    unsafe buffer.mutableBytes.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  /// Appends the column at `position` of the directory, encoded from values.
  mutating func append(_ vector: ColumnVector, _ range: Range<Int>, _ position: Int, id: UInt32, type: ColumnType) {
    let entry = GroupLayout.headerSize + position * GroupLayout.entrySize
    encoder.encode(vector, range, id: id, type: type, at: entry, into: &buffer)
  }

  /// Appends the column at `position` of the directory as it is in another group of the same rows.
  mutating func copy(_ old: GroupColumn, _ position: Int) {
    let entry = GroupLayout.headerSize + position * GroupLayout.entrySize
    let start = UInt32(buffer.count)
    unsafe buffer.append(old.group.slice(old.start, old.length))
    let target = unsafe UnsafeMutableRawBufferPointer(
      rebasing: buffer.mutableBytes[entry..<entry + GroupLayout.entrySize])
    unsafe target.copyMemory(from: old.entryBytes)
    patch(start, at: entry + 8)
  }

  /// Ends the group: padding, header and checksum.
  mutating func finish(rows: Int) {
    buffer.append(UInt64(0))
    patch(GroupLayout.magic, at: 0)
    patch(UInt32(buffer.count), at: 8)
    patch(GroupLayout.version, at: 12)
    patch(family, at: 14)
    patch(UInt16(rows), at: 16)
    patch(UInt16(columns), at: 18)
    patch(view, at: 32)
    unsafe patch(CRC32C.checksum(buffer.bytes.slice(8, buffer.count - 8)), at: 4)
  }
}
