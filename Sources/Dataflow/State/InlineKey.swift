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
    var words: (UInt64, UInt64) = (0, 0)
    unsafe withUnsafeMutableBytes(of: &words) { unsafe $0.copyMemory(from: bytes) }
    low = UInt64(littleEndian: words.0)
    high = UInt64(littleEndian: words.1) | UInt64(truncatingIfNeeded: bytes.count) &<< 56
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
