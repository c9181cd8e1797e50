public import Bytes

/// Keys with a number in front (a time, a window, a pane): in the state's table they lie in the order of group, number,
/// key, so that what is due is found without looking at the rest.
extension KeyColumn {
  /// The width in bytes of numbers that are times.
  @inlinable static var timeWidth: Int { 8 }

  /// Appends key `index` of `other` with `number` in front: big-endian with its sign flipped, in `width` (7 or 8)
  /// bytes, into which it must fit. It stays in the key group of the key.
  @inlinable
  mutating func append(_ number: Int64, width: Int, before other: borrowing KeyColumn, at index: Int) {
    let ordered = Self.ordered(number, width: width)
    let hash = unsafe KeyHash(value: other.hashes[index]).withNamespace(ordered)
    let key = unsafe other.keys[index]
    if width == 7 && key.high &>> 56 <= 8 {
      // Eight bytes of key and seven of number are held in place.
      let count = key.high &>> 56
      let front = (ordered &<< 8).byteSwapped
      return push(
        InlineKey(low: front | key.low &<< 56, high: key.low &>> 8 | (count &+ 7) &<< 56), hash.value)
    }
    unsafe other.withBytes(at: index) { unsafe append(ordered, width: width, before: $0, hash: hash) }
  }

  /// Appends `number`, in `width` bytes, and `bytes` behind it; `hash` is the whole's, in the key group of the key.
  @usableFromInline
  mutating func append(_ ordered: UInt64, width: Int, before bytes: UnsafeRawBufferPointer, hash: KeyHash) {
    let count = bytes.count + width
    unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { whole in
      let aligned = ordered << UInt64(64 - 8 * width)
      for place in 0..<width { unsafe whole[place] = UInt8(truncatingIfNeeded: aligned >> UInt64(56 - 8 * place)) }
      unsafe UnsafeMutableRawBufferPointer(rebasing: whole[width...]).copyMemory(from: bytes)
      unsafe append(UnsafeRawBufferPointer(whole), hash: hash)
    }
  }

  /// `number` as a word whose `width` low bytes, big-endian, order as numbers do.
  @inlinable
  static func ordered(_ number: Int64, width: Int) -> UInt64 {
    let unused = UInt64(64 &- 8 &* width)
    return ((UInt64(bitPattern: number) ^ 1 &<< (63 &- unused)) &<< unused) &>> unused
  }

  /// The number in front of a key's bytes.
  @inlinable
  static func number(_ bytes: UnsafeRawBufferPointer, width: Int) -> Int64 {
    if width == 8 { return Int64(bitPattern: unsafe bytes.big(UInt64.self, at: 0) ^ 1 &<< 63) }
    var word: UInt64 = 0
    for place in 0..<width { word = unsafe word &<< 8 | UInt64(bytes[place]) }
    let unused = UInt64(64 &- 8 &* width)
    return Int64(bitPattern: (word ^ 1 &<< (63 &- unused)) &<< unused) &>> Int64(unused)
  }
}

extension KeyColumn {
  /// The key at `index` of `other` without the number of `width` bytes in front, alone in a column.
  @inlinable
  init(bareKeyOf other: borrowing KeyColumn, at index: Int, width: Int) {
    self.init()
    unsafe other.withBytes(at: index) { unsafe append($0.slice(width, $0.count - width)) }
  }

  /// Appends `bytes`, a number of `width` bytes and a key behind it, with the hash of `append(_:width:before:at:)`.
  @usableFromInline
  mutating func append(numbered bytes: UnsafeRawBufferPointer, width: Int) {
    let number = unsafe Self.number(bytes, width: width)
    let hash = unsafe KeyHash(bytes.slice(width, bytes.count - width))
    unsafe append(bytes, hash: hash.withNamespace(Self.ordered(number, width: width)))
  }

  /// Takes back the key appended last.
  mutating func removeLast() {
    let key = unsafe keys[used - 1]
    if key.isLong { arena.truncate(to: arena.count - key.count) }
    used -= 1
  }
}
