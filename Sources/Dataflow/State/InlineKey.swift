public import Bytes

/// A key in 16 bytes: up to 15 bytes are held in place; of a longer one, where it lies, its length and part of its
/// hash.
///
/// Short: the bytes, zeros behind them, the length in the last byte. Long: a number that its owner turns into an
/// address; then length (32 bits), 24 bits of hash and 0xFF.
@frozen
@usableFromInline
struct InlineKey: BitwiseCopyable {
  @usableFromInline var low: UInt64
  @usableFromInline var high: UInt64

  @inlinable
  init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  /// The longest key that is held in place.
  @inlinable static var inlineLimit: Int { 15 }

  /// A key of the eight bytes that lie in memory as `word`.
  @inlinable
  init(eightBytes word: UInt64) {
    low = word
    high = 8 &<< 56
  }

  /// A key of at most 15 bytes.
  @inlinable
  init(short bytes: UnsafeRawBufferPointer) {
    let count = bytes.count
    let tail = UInt64(truncatingIfNeeded: count) &<< 56
    if count >= 8 {
      low = unsafe bytes.little(UInt64.self, at: 0)
      // The last eight bytes overlap the first; what belongs to both is shifted out.
      high = unsafe count == 8 ? tail : bytes.little(UInt64.self, at: count - 8) &>> UInt64(8 * (16 - count)) | tail
    } else {
      var word: UInt64 = 0
      for index in 0..<count { word |= unsafe UInt64(bytes[index]) &<< UInt64(8 * index) }
      low = word
      high = tail
    }
  }

  /// A key above 15 bytes that lies at `place`.
  @inlinable
  init(longAt place: UInt64, count: Int, hash: UInt64) {
    low = place
    high = 0xFF00_0000_0000_0000 | (hash & 0xFF_FFFF) &<< 32 | UInt64(UInt32(truncatingIfNeeded: count))
  }

  @inlinable var isLong: Bool { high &>> 56 == 0xFF }
  /// The length in bytes.
  @inlinable var count: Int {
    isLong ? Int(UInt32(truncatingIfNeeded: high)) : Int(truncatingIfNeeded: high &>> 56)
  }
}
