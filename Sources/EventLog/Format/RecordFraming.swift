/// How one record lies in a batch: eight bytes of lengths, then its parts without padding.
///
/// | bytes | meaning |
/// |---|---|
/// | 8 | little-endian word: bits 0–23 value length, 24–39 key length (65,535: no key), 40 headers follow, 41–63 signed timestamp − base timestamp of the batch in µs (−2²²: the timestamp follows in full) |
/// | 8 | timestamp, only if it is not within ±4.19 s of the base |
/// | 4 | length of the headers, only if there are any |
/// | … | key, value, headers |
///
/// One load yields every length, so that a scan costs a nanosecond or two beside touching the bytes.
@usableFromInline
enum RecordFraming {
  @usableFromInline static let prefixBytes = 8
  /// The longest value: 24 bits.
  static let maximumValueBytes = (1 << 24) - 1
  /// The longest key: 16 bits less the mark of no key.
  static let maximumKeyBytes = 65_534
  @usableFromInline static let noKey: UInt64 = 0xFFFF
  @usableFromInline static let headersFlag: UInt64 = 1 << 40
  /// The timestamp field that says: the timestamp follows in full.
  @usableFromInline static let farTimestamp: Int64 = -(1 << 22)

  /// The timestamp field for `timestamp`, `farTimestamp` if it does not fit.
  @inlinable
  static func timestampField(_ timestamp: Int64, base: Int64) -> Int64 {
    let (delta, overflow) = timestamp.subtractingReportingOverflow(base)
    return !overflow && delta > farTimestamp && delta < -farTimestamp ? delta : farTimestamp
  }

  @inlinable
  static func prefix(valueCount: Int, keyField: UInt64, flags: UInt64, timestampField: Int64) -> UInt64 {
    UInt64(truncatingIfNeeded: valueCount) | keyField << 24 | flags | UInt64(bitPattern: timestampField) << 41
  }
}
