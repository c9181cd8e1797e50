/// What went wrong with a store as a whole: what, where, and what to do. Errors of the log, of jobs and of views have
/// their own types (`EventLogError`, `DataflowError`, `ViewsError`), errors of a file's pages `LMDBError`.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of error. New codes may be added; switch with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable {
      case alreadyOpen, notFound, notAStore, newerFormat, damagedFormat, missingFile, permissionDenied, readOnly, closed
      case alreadyExists, schemaMismatch, jobRunning, timedOut, undecodableRecord, io
    }
    let kind: Kind

    /// Another process, or another `Store` of this one, has the store open for writing.
    public static let alreadyOpen = Code(kind: .alreadyOpen)
    /// There is no store at the path.
    public static let notFound = Code(kind: .notFound)
    /// The folder holds other things than a store.
    public static let notAStore = Code(kind: .notAStore)
    /// A newer version of the library wrote the store.
    public static let newerFormat = Code(kind: .newerFormat)
    /// The FORMAT file cannot be understood.
    public static let damagedFormat = Code(kind: .damagedFormat)
    /// A file without which the store is not whole is gone.
    public static let missingFile = Code(kind: .missingFile)
    /// The operating system refused access.
    public static let permissionDenied = Code(kind: .permissionDenied)
    /// A change was asked of a store opened for reading.
    public static let readOnly = Code(kind: .readOnly)
    /// The store was closed.
    public static let closed = Code(kind: .closed)
    /// The target exists already.
    public static let alreadyExists = Code(kind: .alreadyExists)
    /// What is stored cannot be read as the type asked for.
    public static let schemaMismatch = Code(kind: .schemaMismatch)
    /// The job runs already in this process.
    public static let jobRunning = Code(kind: .jobRunning)
    /// A wait reached its time limit.
    public static let timedOut = Code(kind: .timedOut)
    /// A record's bytes are not of its topic's type.
    public static let undecodableRecord = Code(kind: .undecodableRecord)
    /// Any other input/output error.
    public static let io = Code(kind: .io)

    public var description: String { kind.rawValue }
  }

  public var code: Code
  /// The store's folder, or the file in it.
  public var path: String
  /// What was found and what to do.
  public var detail: String
  /// The error underneath, if there is one.
  public var cause: (any Error)?

  public init(_ code: Code, path: String, detail: String, cause: (any Error)? = nil) {
    self.code = code
    self.path = path
    self.detail = detail
    self.cause = cause
  }

  /// Whether the same call can succeed later without a change to the program.
  public var isRetriable: Bool { code == .alreadyOpen || code == .timedOut || code == .jobRunning }

  public var description: String {
    let text = "\(code) at \(path): \(detail)"
    return cause.map { "\(text) (\($0))" } ?? text
  }
}
