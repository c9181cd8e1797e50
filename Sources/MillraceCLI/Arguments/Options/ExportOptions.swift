/// Which records `millrace export` writes, and how.
struct ExportOptions: Equatable, Sendable {
  /// How bytes without a schema are written.
  enum Bytes: String, Equatable, Sendable, CaseIterable {
    /// Text where they are text, else base 16, told apart.
    case auto
    /// Text; what is not UTF-8 is replaced.
    case utf8
    case hex
    case base64
  }

  enum Format: Equatable, Sendable {
    case jsonLines
    case csv
  }

  var start = RecordPosition.earliest
  var end = RecordPosition.latest
  /// Nil for all.
  var partitions: [Int]?
  var format = Format.jsonLines
  var bytes = Bytes.auto
  /// Values as they are stored, not by their schema.
  var isRaw = false
}
