internal import Bytes

/// One column of a group in place.
///
/// Invariant: as `GroupView`: the bytes were checked once, so offsets, codes and ends lie inside.
@safe
struct GroupColumn: BitwiseCopyable {
  let group: UnsafeRawBufferPointer
  let rows: Int
  /// Where the directory entry lies.
  private let at: Int
  let encoding: GroupLayout.Encoding
  let width: Int
  let nullCount: Int
  private let nulls: Int
  let values: Int

  init(group: UnsafeRawBufferPointer, rows: Int, at: Int) {
    unsafe self.group = group
    self.rows = rows
    self.at = at
    encoding = unsafe GroupLayout.Encoding(rawValue: group[at + 5]) ?? .allNull
    width = unsafe Int(group[at + 6])
    nulls = unsafe Int(group.little(UInt32.self, at: at + 8))
    values = unsafe nulls + Int(group.little(UInt32.self, at: at + 16))
    nullCount = unsafe Int(group.little(UInt16.self, at: at + 24))
  }

  var id: UInt32 { unsafe group.little(UInt32.self, at: at) }
  var typeCode: UInt8 { unsafe group[at + 4] }
  var heapWidth: Int { unsafe Int(group[at + 7]) }
  var start: Int { nulls }
  var length: Int { unsafe Int(group.little(UInt32.self, at: at + 12)) }
  var heap: Int { unsafe nulls + Int(group.little(UInt32.self, at: at + 20)) }
  /// The row that holds the smallest value; meaningless if all are null.
  var minRow: Int { unsafe Int(group.little(UInt16.self, at: at + 26)) }
  /// The row that holds the largest value; meaningless if all are null.
  var maxRow: Int { unsafe Int(group.little(UInt16.self, at: at + 28)) }
  var dictionaryCount: Int { unsafe Int(group.little(UInt16.self, at: at + 30)) }
  /// The entry itself, for copying.
  var entryBytes: UnsafeRawBufferPointer { unsafe group.slice(at, GroupLayout.entrySize) }

  /// The base of the frame of reference, or the constant's bits.
  var base: UInt64 { unsafe group.little(UInt64.self, at: values - 8) }

  func isNull(_ row: Int) -> Bool {
    if nullCount == 0 { return false }
    if nullCount == rows { return true }
    return unsafe group[nulls + row >> 3] & (1 << UInt8(row & 7)) != 0
  }

  /// The unsigned number of `width` bytes at `offset`.
  func number(_ width: Int, at offset: Int) -> UInt64 {
    switch width {
    case 0: 0
    case 1: unsafe UInt64(group[offset])
    case 2: unsafe UInt64(group.little(UInt16.self, at: offset))
    case 4: unsafe UInt64(group.little(UInt32.self, at: offset))
    default: unsafe group.little(UInt64.self, at: offset)
    }
  }

  /// The value of `row`.
  func cell(_ row: Int) -> Cell {
    if nullCount != 0, isNull(row) { return .null }
    switch encoding {
    case .allNull: return .null
    case .frameOfReference:
      return Cell(word: base &+ number(width, at: values + row * width), count: 0, isNull: false)
    case .real64: return unsafe Cell(word: group.little(UInt64.self, at: values + row * 8), count: 0, isNull: false)
    case .real32:
      return unsafe Cell(real: Double(Float(bitPattern: group.little(UInt32.self, at: values + row * 4))))
    case .realConstant: return Cell(word: base, count: 0, isNull: false)
    case .plainBytes:
      let begin = row == 0 ? 0 : Int(number(width, at: values + (row - 1) * width))
      let end = Int(number(width, at: values + row * width))
      return unsafe Cell(bytes: group.slice(heap + begin, end - begin))
    case .dictionaryBytes:
      return unsafe Cell(bytes: dictionary(Int(number(width, at: values + row * width))))
    }
  }

  /// Entry `code` of the dictionary.
  func dictionary(_ code: Int) -> UnsafeRawBufferPointer {
    let heapWidth = heapWidth
    let ends = heap
    let begin = code == 0 ? 0 : Int(number(heapWidth, at: ends + (code - 1) * heapWidth))
    let end = Int(number(heapWidth, at: ends + code * heapWidth))
    return unsafe group.slice(ends + dictionaryCount * heapWidth + begin, end - begin)
  }
}
