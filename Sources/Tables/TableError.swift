/// What can go wrong with stored tables.
public struct TableError: Error, Sendable, CustomStringConvertible {
  /// The kind of error. New codes may be added; switch with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable {
      case damaged, unknownTable, tableExists, nameTooLong, unknownFormat, newerFormat, inseparableBlocks
    }
    let kind: Kind

    /// Stored bytes are not what was written: their checksum, order or structure is wrong.
    public static let damaged = Code(kind: .damaged)
    /// No table of that id or name.
    public static let unknownTable = Code(kind: .unknownTable)
    /// A table of that name exists.
    public static let tableExists = Code(kind: .tableExists)
    /// The name is empty or above 400 bytes.
    public static let nameTooLong = Code(kind: .nameTooLong)
    /// The table's block format is not registered.
    public static let unknownFormat = Code(kind: .unknownFormat)
    /// Written by a newer version of this library.
    public static let newerFormat = Code(kind: .newerFormat)
    /// A block format split keys that share too long a prefix.
    public static let inseparableBlocks = Code(kind: .inseparableBlocks)

    public var description: String { kind.rawValue }
  }

  public var code: Code
  /// The table, if one is concerned.
  public var table: TableID?
  /// The part of it, as "run 17, chunk 2" or "block up to 0x6162".
  public var place: String
  /// What was found and what to do.
  public var detail: String

  public init(_ code: Code, table: TableID? = nil, place: String = "", detail: String) {
    self.code = code
    self.table = table
    self.place = place
    self.detail = detail
  }

  /// Whether the same call may succeed later without a change from outside: never.
  public var isRetriable: Bool { false }

  public var description: String {
    let subject = table.map { "table \($0.value)" } ?? "tables"
    return "\(subject)\(place.isEmpty ? "" : ", \(place)"): \(detail) (\(code))"
  }

  static func damaged(_ table: TableID?, _ place: String, _ detail: String) -> TableError {
    TableError(
      .damaged, table: table, place: place, detail: "\(detail); restore it from a backup or rebuild it by replay")
  }
}
