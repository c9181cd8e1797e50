internal import Bytes

/// The values of one column for a run of rows, side by side: what groups are decoded into, built from and filtered on.
///
/// Invariant: `words`, `counts` and `nulls` have room for `capacity` rows; one owner at a time uses the vector. Words
/// of byte values are addresses that live as long as their source.
@safe
final class ColumnVector {
  private(set) var capacity: Int
  /// Integers, doubles' bits or addresses; 0 where null.
  private(set) var words: UnsafeMutablePointer<UInt64>
  /// Lengths of byte values.
  private(set) var counts: UnsafeMutablePointer<Int32>
  /// 1 where null, else 0.
  private(set) var nulls: UnsafeMutablePointer<UInt8>
  /// Whether a null may be among them.
  var hasNulls = false

  init(capacity: Int = GroupLayout.targetRows) {
    self.capacity = capacity
    unsafe words = .allocate(capacity: capacity)
    unsafe counts = .allocate(capacity: capacity)
    unsafe nulls = .allocate(capacity: capacity)
  }

  deinit {
    unsafe words.deallocate()
    unsafe counts.deallocate()
    unsafe nulls.deallocate()
  }

  /// Makes room for `rows` rows and forgets what was held.
  func reset(rows: Int) {
    hasNulls = false
    if rows <= capacity { return }
    unsafe words.deallocate()
    unsafe counts.deallocate()
    unsafe nulls.deallocate()
    capacity = max(rows, capacity * 2)
    unsafe words = .allocate(capacity: capacity)
    unsafe counts = .allocate(capacity: capacity)
    unsafe nulls = .allocate(capacity: capacity)
  }

  func set(_ row: Int, _ cell: Cell) {
    unsafe words[row] = cell.word
    unsafe counts[row] = cell.count
    unsafe nulls[row] = cell.isNull ? 1 : 0
    if cell.isNull { hasNulls = true }
  }

  func cell(_ row: Int) -> Cell {
    unsafe Cell(word: words[row], count: counts[row], isNull: hasNulls && nulls[row] != 0)
  }

  /// Fills all of `rows` rows with `cell`.
  func fill(_ cell: Cell, rows: Int) {
    reset(rows: rows)
    unsafe words.update(repeating: cell.word, count: rows)
    unsafe counts.update(repeating: cell.count, count: rows)
    unsafe nulls.update(repeating: cell.isNull ? 1 : 0, count: rows)
    hasNulls = cell.isNull
  }

  /// Decodes the whole of `column`.
  func decode(_ column: GroupColumn) {
    let rows = column.rows
    reset(rows: rows)
    decodeNulls(column)
    // Local, so that the loops do not ask the object for it each time.
    let words = unsafe words
    guard let start = unsafe column.group.baseAddress else { return }
    let values = unsafe start + column.values
    switch column.encoding {
    case .allNull: unsafe words.update(repeating: 0, count: rows)
    case .frameOfReference:
      let base = column.base
      switch column.width {
      case 0: unsafe words.update(repeating: base, count: rows)
      case 1:
        for row in 0..<rows {
          unsafe words[row] = unsafe base &+ UInt64(values.load(fromByteOffset: row, as: UInt8.self))
        }
      case 2:
        for row in 0..<rows {
          unsafe words[row] = unsafe base &+ UInt64(values.loadUnaligned(fromByteOffset: row &* 2, as: UInt16.self))
        }
      case 4:
        for row in 0..<rows {
          unsafe words[row] = unsafe base &+ UInt64(values.loadUnaligned(fromByteOffset: row &* 4, as: UInt32.self))
        }
      default:
        for row in 0..<rows {
          unsafe words[row] = unsafe base &+ values.loadUnaligned(fromByteOffset: row &* 8, as: UInt64.self)
        }
      }
    case .real64: unsafe UnsafeMutableRawPointer(words).copyMemory(from: values, byteCount: rows * 8)
    case .real32:
      for row in 0..<rows {
        let bits = unsafe values.loadUnaligned(fromByteOffset: row &* 4, as: UInt32.self)
        unsafe words[row] = Double(Float(bitPattern: bits)).bitPattern
      }
    case .realConstant: unsafe words.update(repeating: column.base, count: rows)
    case .plainBytes: decodePlain(column)
    case .dictionaryBytes: decodeDictionary(column)
    }
  }

  private func decodeNulls(_ column: GroupColumn) {
    let rows = column.rows
    unsafe nulls.update(repeating: column.nullCount == rows ? 1 : 0, count: rows)
    hasNulls = column.nullCount > 0
    if column.nullCount == 0 || column.nullCount == rows { return }
    for row in 0..<rows where column.isNull(row) { unsafe nulls[row] = 1 }
  }

  private func decodePlain(_ column: GroupColumn) {
    guard let start = unsafe column.group.baseAddress else { return }
    let (words, counts) = unsafe (words, counts)
    let heap = unsafe UInt64(UInt(bitPattern: start + column.heap))
    var begin: UInt64 = 0
    for row in 0..<column.rows {
      let end = column.number(column.width, at: column.values + row * column.width)
      unsafe words[row] = heap + begin
      unsafe counts[row] = Int32(truncatingIfNeeded: end - begin)
      begin = end
    }
  }

  private func decodeDictionary(_ column: GroupColumn) {
    let (words, counts) = unsafe (words, counts)
    for row in 0..<column.rows {
      let code = Int(column.number(column.width, at: column.values + row * column.width))
      let bytes = unsafe column.dictionary(code)
      unsafe words[row] = UInt64(UInt(bitPattern: bytes.baseAddress))
      unsafe counts[row] = Int32(truncatingIfNeeded: bytes.count)
    }
  }
}
