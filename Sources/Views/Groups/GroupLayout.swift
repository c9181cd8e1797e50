/// The bytes of a group: neighbouring rows of one family, column by column. All numbers little-endian.
///
/// | offset | bytes | header |
/// |---|---|---|
/// | 0 | 4 | magic `MRG1` |
/// | 4 | 4 | CRC-32C of bytes 8 ..< size |
/// | 8 | 4 | size of the group in bytes, padding included |
/// | 12 | 2 | format version, 1 |
/// | 14 | 2 | family |
/// | 16 | 2 | rows: at most 1,000, unless their keys share 505 bytes |
/// | 18 | 2 | columns |
/// | 20 | 4 | offset of the keys |
/// | 24 | 4 | length of the prefix that all keys share |
/// | 28 | 4 | length of every suffix, or 0xFFFFFFFF if they differ |
/// | 32 | 4 | id of the view |
/// | 36 | 4 | zero |
/// | 40 | 32 × columns | column directory, by ascending id |
///
/// Keys: the prefix; then, if suffixes differ in length, the end of each (4 bytes, from the first suffix); then
/// suffixes.
///
/// | offset | bytes | directory entry |
/// |---|---|---|
/// | 0 | 4 | column id |
/// | 4 | 1 | column type |
/// | 5 | 1 | encoding |
/// | 6 | 1 | width of a value, code or end offset: 0, 1, 2, 4 or 8 |
/// | 7 | 1 | width of a dictionary's end offsets: 0, 2 or 4 |
/// | 8 | 4 | offset of the column's bytes |
/// | 12 | 4 | their length |
/// | 16 | 4 | where in them the values begin (the null map, a bit per row, lies before) |
/// | 20 | 4 | where in them the dictionary (its end offsets, then its bytes) or the string bytes begin |
/// | 24 | 2 | nulls; the null map exists if this is neither 0 nor all rows |
/// | 26 | 2 | row of the smallest value |
/// | 28 | 2 | row of the largest value |
/// | 30 | 2 | entries of the dictionary |
///
/// Eight bytes of zero end the group, so that values may be loaded eight bytes at a time.
enum GroupLayout {
  static let magic: UInt32 = 0x3147_524D
  static let version: UInt16 = 1
  static let headerSize = 40
  static let entrySize = 32
  static let padding = 8
  /// No group has more rows, unless their keys are alike for so long that they cannot be kept apart.
  static let targetRows = 1_000
  /// No group ever has more rows.
  static let maxRows = 65_535
  /// A group of more rows than one is split when it is larger; just below 16 pages with LMDB's page header.
  static let targetSize = 65_520
  static let variableSuffix: UInt32 = 0xFFFF_FFFF

  /// How the values of a column lie in a group.
  enum Encoding: UInt8 {
    /// Every row is null: no bytes.
    case allNull = 0
    /// An eight-byte base before the values, each value its unsigned distance from the base.
    case frameOfReference = 1
    /// Doubles, eight bytes each.
    case real64 = 2
    /// Floats, four bytes each.
    case real32 = 3
    /// One double for all rows.
    case realConstant = 4
    /// End offsets of width 2 or 4, then the bytes.
    case plainBytes = 5
    /// Codes of width 1 or 2, then the distinct values' end offsets and bytes.
    case dictionaryBytes = 6
  }
}
