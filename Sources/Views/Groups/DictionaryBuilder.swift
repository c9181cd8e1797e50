internal import Bytes

/// Finds the distinct byte values of a column by an open hash table of row numbers.
struct DictionaryBuilder: ~Copyable {
  /// Twice the rows of a group, so that at most half of the slots are taken.
  private static let slotCount = 2_048
  private var slots = [Int32](repeating: -1, count: slotCount)
  private var codes: [UInt16] = []
  private var firstRows: [Int] = []
  private var values: [Cell] = []
  private var totalBytes = 0

  /// Whether a dictionary of `range` is smaller than `limit` bytes; if so it is ready to be appended.
  mutating func build(_ vector: ColumnVector, _ range: Range<Int>, _ nullCount: Int, below limit: Int) -> Bool {
    if range.count < 4 || range.count > GroupLayout.targetRows { return false }
    for index in 0..<Self.slotCount { slots[index] = -1 }
    codes.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
    totalBytes = 0
    let most = range.count / 2
    for row in range {
      if nullCount > 0, unsafe vector.nulls[row] != 0 {
        codes.append(0)
        continue
      }
      let cell = vector.cell(row)
      var slot = unsafe Int(truncatingIfNeeded: KeyHash(cell.bytes).value) & (Self.slotCount - 1)
      while slots[slot] >= 0, unsafe values[Int(slots[slot])].bytes.compare(cell.bytes) != 0 {
        slot = (slot + 1) & (Self.slotCount - 1)
      }
      if slots[slot] < 0 {
        if values.count >= most { return false }
        slots[slot] = Int32(values.count)
        values.append(cell)
        unsafe totalBytes += cell.bytes.count
      }
      codes.append(UInt16(slots[slot]))
    }
    let size = codes.count * codeWidth + values.count * heapWidth + totalBytes
    return size < limit
  }

  private var codeWidth: Int { values.count <= 256 ? 1 : 2 }
  private var heapWidth: Int { totalBytes <= 0xFFFF ? 2 : 4 }

  /// Appends codes, end offsets and bytes.
  func append(to buffer: inout ByteBuffer, _ fields: inout EntryFields) {
    fields.width = codeWidth
    fields.heapWidth = heapWidth
    fields.dictionaryCount = values.count
    for code in codes {
      if codeWidth == 1 { buffer.append(UInt8(truncatingIfNeeded: code)) } else { buffer.append(code) }
    }
    fields.heap = buffer.count - fields.start
    var end = 0
    for value in values {
      unsafe end += value.bytes.count
      if heapWidth == 2 { buffer.append(UInt16(truncatingIfNeeded: end)) } else { buffer.append(UInt32(end)) }
    }
    for value in values { unsafe buffer.append(value.bytes) }
  }
}
