internal import Bytes

/// A group in place: where its keys and columns lie. Making one costs a few loads.
///
/// Invariant: `bytes` were checked once by `GroupCheck` and live as long as the transaction they came from.
@safe
struct GroupView: BitwiseCopyable {
  let bytes: UnsafeRawBufferPointer
  let rows: Int
  let columns: Int
  private let prefixStart: Int
  private let prefixLength: Int
  /// The length of each suffix, or −1.
  private let suffixLength: Int
  private let suffixStart: Int

  /// The group in `bytes`, which have been checked.
  init(checked bytes: UnsafeRawBufferPointer) {
    unsafe self.bytes = bytes
    rows = unsafe Int(bytes.little(UInt16.self, at: 16))
    columns = unsafe Int(bytes.little(UInt16.self, at: 18))
    prefixStart = unsafe Int(bytes.little(UInt32.self, at: 20))
    prefixLength = unsafe Int(bytes.little(UInt32.self, at: 24))
    let length = unsafe bytes.little(UInt32.self, at: 28)
    suffixLength = length == GroupLayout.variableSuffix ? -1 : Int(length)
    let ends = length == GroupLayout.variableSuffix ? rows * 4 : 0
    suffixStart = prefixStart + prefixLength + ends
  }

  var family: UInt16 { unsafe bytes.little(UInt16.self, at: 14) }
  var viewID: UInt32 { unsafe bytes.little(UInt32.self, at: 32) }

  // MARK: Keys

  var prefix: UnsafeRawBufferPointer { unsafe bytes.slice(prefixStart, prefixLength) }

  /// The part of row `row`'s key behind the common prefix.
  func suffix(_ row: Int) -> UnsafeRawBufferPointer {
    if suffixLength >= 0 { return unsafe bytes.slice(suffixStart + row * suffixLength, suffixLength) }
    let ends = prefixStart + prefixLength
    let start = unsafe row == 0 ? 0 : Int(bytes.little(UInt32.self, at: ends + (row - 1) * 4))
    let end = unsafe Int(bytes.little(UInt32.self, at: ends + row * 4))
    return unsafe bytes.slice(suffixStart + start, end - start)
  }

  func keyCount(_ row: Int) -> Int { unsafe prefixLength + suffix(row).count }

  func appendKey(_ row: Int, to buffer: inout ByteBuffer) {
    unsafe buffer.append(prefix)
    unsafe buffer.append(suffix(row))
  }

  /// The first row whose key is not below `key`, and whether it is `key`.
  func lowerBound(_ key: UnsafeRawBufferPointer) -> (row: Int, found: Bool) {
    let common = min(prefixLength, key.count)
    let order = unsafe key.slice(0, common).compare(bytes.slice(prefixStart, common))
    if order < 0 { return (0, false) }
    if order > 0 { return (rows, false) }
    if key.count < prefixLength { return (0, false) }
    let rest = unsafe key.slice(prefixLength, key.count - prefixLength)
    if suffixLength >= 1, suffixLength <= 8, rest.count == suffixLength { return unsafe lowerBound(word: rest) }
    var low = 0
    var high = rows
    while low < high {
      let middle = (low + high) / 2
      if unsafe suffix(middle).compare(rest) < 0 { low = middle + 1 } else { high = middle }
    }
    return unsafe (low, low < rows && suffix(low).compare(rest) == 0)
  }

  /// As `lowerBound`, for a key that is not below that of row `start` − 1: fast if the answer is near.
  func lowerBound(_ key: UnsafeRawBufferPointer, from start: Int) -> (row: Int, found: Bool) {
    guard key.count >= prefixLength, unsafe key.slice(0, prefixLength).compare(prefix) == 0 else {
      return unsafe lowerBound(key)
    }
    let rest = unsafe key.slice(prefixLength, key.count - prefixLength)
    var low = start
    var step = 1
    while low + step <= rows, unsafe suffix(low + step - 1).compare(rest) < 0 {
      low += step
      step *= 2
    }
    var high = min(low + step - 1, rows)
    while low < high {
      let middle = (low + high) / 2
      if unsafe suffix(middle).compare(rest) < 0 { low = middle + 1 } else { high = middle }
    }
    return unsafe (low, low < rows && suffix(low).compare(rest) == 0)
  }

  /// As `lowerBound`, with keys short enough to be compared as one integer.
  private func lowerBound(word rest: UnsafeRawBufferPointer) -> (row: Int, found: Bool) {
    let shift = UInt64(64 - 8 * suffixLength)
    var wanted: UInt64 = 0
    for index in 0..<rest.count { wanted = unsafe wanted << 8 | UInt64(rest[index]) }
    var low = 0
    var high = rows
    while low < high {
      let middle = (low + high) / 2
      if unsafe bytes.big(UInt64.self, at: suffixStart + middle * suffixLength) >> shift < wanted {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return unsafe (low, low < rows && bytes.big(UInt64.self, at: suffixStart + low * suffixLength) >> shift == wanted)
  }

  // MARK: Columns

  /// The directory entry at `position`.
  func entry(_ position: Int) -> GroupColumn {
    unsafe GroupColumn(group: bytes, rows: rows, at: GroupLayout.headerSize + position * GroupLayout.entrySize)
  }

  func columnID(_ position: Int) -> UInt32 {
    unsafe bytes.little(UInt32.self, at: GroupLayout.headerSize + position * GroupLayout.entrySize)
  }

  /// The column with this id, looked for from `hint` on, where it nearly always is.
  func column(id: UInt32, hint: Int) -> GroupColumn? {
    if hint < columns, columnID(hint) == id { return entry(hint) }
    for position in 0..<columns where columnID(position) == id { return entry(position) }
    return nil
  }
}
