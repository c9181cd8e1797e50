import Millrace

/// The order of column values, as views have it: nulls first, NaN above every number and equal to itself, −0 equal to
/// +0, texts and bytes by their bytes. Numbers compare by value whatever their kind.
enum RowValueOrder {
  /// Negative, zero or positive as `left` comes before, with or after `right`; nil if they are of kinds that cannot be
  /// compared.
  static func compare(_ left: ColumnValue, _ right: ColumnValue) -> Int? {
    switch (left, right) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.bool(let left), .bool(let right)): (left ? 1 : 0) - (right ? 1 : 0)
    case (.string(let left), .string(let right)): order(left.utf8, right.utf8)
    case (.bytes(let left), .bytes(let right)): order(left, right)
    case (.timestamp(let left), .timestamp(let right)): order(left.microseconds, right.microseconds)
    case (.integer(let left), .integer(let right)): order(left, right)
    case (.unsigned(let left), .unsigned(let right)): order(left, right)
    case (.integer(let left), .unsigned(let right)): left < 0 ? -1 : order(UInt64(left), right)
    case (.unsigned(let left), .integer(let right)): right < 0 ? 1 : order(left, UInt64(right))
    default: numbers(left, right)
    }
  }

  /// Integers and doubles: exact where the integer has no equal double.
  private static func numbers(_ left: ColumnValue, _ right: ColumnValue) -> Int? {
    switch (left, right) {
    case (.real(let left), .real(let right)): order(left, right)
    case (.integer(let left), .real(let right)): order(left, right)
    case (.unsigned(let left), .real(let right)): order(left, right)
    case (.real(let left), .integer(let right)): -order(right, left)
    case (.real(let left), .unsigned(let right)): -order(right, left)
    default: nil
    }
  }

  private static func order<T: Comparable>(_ left: T, _ right: T) -> Int { left < right ? -1 : (left == right ? 0 : 1) }

  private static func order(_ left: Double, _ right: Double) -> Int {
    if left.isNaN || right.isNaN { return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0) }
    return left < right ? -1 : (left == right ? 0 : 1)
  }

  private static func order(_ left: some BinaryInteger, _ right: Double) -> Int {
    if right.isNaN || right >= 0x1p64 { return -1 }
    if right < -0x1p63 { return 1 }
    let below = right.rounded(.down)
    let difference = Int128(left) - Int128(below)
    return difference == 0 ? (right > below ? -1 : 0) : Int(difference.signum())
  }

  private static func order(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
    left.lexicographicallyPrecedes(right) ? -1 : (right.lexicographicallyPrecedes(left) ? 1 : 0)
  }
}
