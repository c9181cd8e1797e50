/// What went wrong in a view: what, where and what to do about it.
public struct ViewError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure. New kinds may be added; treat unknown ones as fatal.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String {
      case unknownView, viewExists, unknownColumn, columnExists, schemaMismatch, unsupportedType, keyColumn
      case unknownIndex, nullsExist, tooManyColumns, damaged, newerFormat, keyTooLong, storage, invalidQuery
    }

    private let kind: Kind

    /// No view has this name in this snapshot.
    public static let unknownView = Code(kind: .unknownView)
    /// A view of this name exists already.
    public static let viewExists = Code(kind: .viewExists)
    /// The view has no such column.
    public static let unknownColumn = Code(kind: .unknownColumn)
    /// The view has a column of this name already, of another type.
    public static let columnExists = Code(kind: .columnExists)
    /// The struct and the stored columns do not fit together.
    public static let schemaMismatch = Code(kind: .schemaMismatch)
    /// A property's type cannot be stored in a column.
    public static let unsupportedType = Code(kind: .unsupportedType)
    /// The operation is not possible on the primary key column.
    public static let keyColumn = Code(kind: .keyColumn)
    /// The view has no such index.
    public static let unknownIndex = Code(kind: .unknownIndex)
    /// The column cannot be made non-null: nulls are stored in it.
    public static let nullsExist = Code(kind: .nullsExist)
    /// The column ids of the view are used up: ids are never given twice.
    public static let tooManyColumns = Code(kind: .tooManyColumns)
    /// Stored bytes fail their checksum or contradict themselves.
    public static let damaged = Code(kind: .damaged)
    /// The store was written by a newer version of the library.
    public static let newerFormat = Code(kind: .newerFormat)
    /// The primary key is longer than keys may be.
    public static let keyTooLong = Code(kind: .keyTooLong)
    /// The layer below failed; see `cause`.
    public static let storage = Code(kind: .storage)
    /// The query cannot be answered as written.
    public static let invalidQuery = Code(kind: .invalidQuery)

    public var description: String { kind.rawValue }
  }

  /// The kind of failure.
  public let code: Code
  /// The view, if one is concerned.
  public let view: String?
  /// The column or index, if one is concerned.
  public let column: String?
  /// What happened, and what to do.
  public let message: String
  /// The error of a lower layer that led to this one.
  public let cause: (any Error)?

  package init(_ code: Code, view: String? = nil, column: String? = nil, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.view = view
    self.column = column
    self.message = message
    self.cause = cause
  }

  /// Whether the same call may succeed later without any change by the caller.
  public var isRetriable: Bool { false }

  public var description: String {
    var text = "view"
    if let view { text += " '\(view)'" }
    if let column { text += ", column '\(column)'" }
    text += ": \(message) [\(code)]"
    if let cause { text += "; cause: \(cause)" }
    return text
  }

  /// The same error, saying in which view it happened.
  package func within(view: String) -> ViewError {
    ViewError(code, view: self.view ?? view, column: column, message, cause: cause)
  }
}
