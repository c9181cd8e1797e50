internal import Bytes

/// One value on its way between struct memory, changes and groups: eight bytes of number, or a pointer to bytes.
///
/// Invariant: a cell of bytes points into memory that outlives it: a transaction's map, a sealed change or a literal
/// held by its query. Cells are made and used within one call.
@safe
package struct Cell: BitwiseCopyable, Sendable {
  /// The integer (bit pattern), the double's bits, or the address of the bytes.
  package var word: UInt64
  /// The number of bytes; 0 for numbers.
  package var count: Int32
  package var isNull: Bool

  package init(word: UInt64, count: Int32, isNull: Bool) {
    self.word = word
    self.count = count
    self.isNull = isNull
  }

  package static var null: Cell { Cell(word: 0, count: 0, isNull: true) }
  package init(integer: Int64) { self.init(word: UInt64(bitPattern: integer), count: 0, isNull: false) }
  package init(real: Double) { self.init(word: real.bitPattern, count: 0, isNull: false) }

  package init(bytes: UnsafeRawBufferPointer) {
    let address = UInt(bitPattern: bytes.baseAddress)
    self.init(word: UInt64(address), count: Int32(truncatingIfNeeded: bytes.count), isNull: false)
  }

  package var integer: Int64 { Int64(bitPattern: word) }
  package var real: Double { Double(bitPattern: word) }

  package var bytes: UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: UInt(word)), count: Int(count))
  }
}

/// The order of values in comparisons and statistics: nulls first; NaN above every number and equal to itself; −0
/// equals +0; bytes by their unsigned values.
package enum CellOrder {
  /// A double as an integer of the same order.
  package static func ordered(_ value: Double) -> Int64 {
    if value.isNaN { return .max }
    // Adding zero turns −0 into +0.
    let bits = Int64(bitPattern: (value + 0).bitPattern)
    return bits ^ ((bits >> 63) & Int64.max)
  }

  /// Negative, zero or positive as `left` comes before, with or after `right`.
  package static func compare(_ left: Cell, _ right: Cell, _ storage: ColumnType.Storage) -> Int {
    if left.isNull || right.isNull { return (left.isNull ? 0 : 1) - (right.isNull ? 0 : 1) }
    switch storage {
    case .integer:
      return left.integer < right.integer ? -1 : (left.integer == right.integer ? 0 : 1)
    case .real:
      let first = ordered(left.real)
      let second = ordered(right.real)
      return first < second ? -1 : (first == second ? 0 : 1)
    case .bytes:
      return unsafe left.bytes.compare(right.bytes)
    }
  }
}
