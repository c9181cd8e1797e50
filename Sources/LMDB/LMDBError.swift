/// What went wrong in a file of the store: which file, in which step, and what a person can do about it.
public struct LMDBError: Error, Sendable {
  /// The kind of error. New codes may be added; switch with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable {
      case mapFull, diskFull, readersFull, mapResized, readerExpired, corrupted, truncated, versionMismatch
      case poisoned, notFound, permissionDenied, readOnlyFileSystem, alreadyExists, invalidKey, invalidValue
      case transactionFull, tooManyOpenFiles, outOfMemory, openedReadOnly, badHandle, io
    }
    let kind: Kind

    /// The file reached its size limit (`Environment.Options.mapSize`).
    public static let mapFull = Code(kind: .mapFull)
    /// The file system, or the process's file size limit, has no room left.
    public static let diskFull = Code(kind: .diskFull)
    /// Every reader slot is taken (`Environment.Options.maxReaders`).
    public static let readersFull = Code(kind: .readersFull)
    /// Another process enlarged the file's limit while transactions are open here.
    public static let mapResized = Code(kind: .mapResized)
    /// The read transaction was open for longer than `Environment.Options.maximumReaderAge`.
    public static let readerExpired = Code(kind: .readerExpired)
    /// A page is not what it should be.
    public static let corrupted = Code(kind: .corrupted)
    /// The file is shorter than its contents.
    public static let truncated = Code(kind: .truncated)
    /// The file is not of LMDB's format, or of another version of it.
    public static let versionMismatch = Code(kind: .versionMismatch)
    /// An input/output error at commit left the outcome unknown: the environment takes no more writes.
    public static let poisoned = Code(kind: .poisoned)
    /// The file or the named database does not exist.
    public static let notFound = Code(kind: .notFound)
    /// The operating system refused access.
    public static let permissionDenied = Code(kind: .permissionDenied)
    /// A live file on a read-only file system cannot be read safely.
    public static let readOnlyFileSystem = Code(kind: .readOnlyFileSystem)
    /// The key, or the target file, exists already.
    public static let alreadyExists = Code(kind: .alreadyExists)
    /// The key is empty or longer than 511 bytes.
    public static let invalidKey = Code(kind: .invalidKey)
    /// The value is longer than LMDB can hold.
    public static let invalidValue = Code(kind: .invalidValue)
    /// One transaction touched more pages than LMDB can track.
    public static let transactionFull = Code(kind: .transactionFull)
    /// The process or the system has no file handles left.
    public static let tooManyOpenFiles = Code(kind: .tooManyOpenFiles)
    /// The system has no memory, or no address space for a map of `Environment.Options.mapSize`.
    public static let outOfMemory = Code(kind: .outOfMemory)
    /// A write was asked of a file that this process opened for reading.
    public static let openedReadOnly = Code(kind: .openedReadOnly)
    /// A handle was used after its end or in the wrong place.
    public static let badHandle = Code(kind: .badHandle)
    /// Any other input/output error; see `errorNumber`.
    public static let io = Code(kind: .io)

    public var description: String { kind.rawValue }
  }

  public var code: Code
  /// The file.
  public var path: String
  /// The step that failed, as "commit".
  public var operation: String
  /// LMDB's or the system's own number, 0 if it is our own finding.
  public var errorNumber: Int32
  /// What was found, where there is more to say.
  public var detail: String?

  public init(_ code: Code, path: String, operation: String, errorNumber: Int32 = 0, detail: String? = nil) {
    self.code = code
    self.path = path
    self.operation = operation
    self.errorNumber = errorNumber
    self.detail = detail
  }

  /// Whether the same call can succeed later without a change to the program: room is made, a reader ends.
  public var isRetriable: Bool {
    switch code.kind {
    case .mapFull, .diskFull, .readersFull, .mapResized, .tooManyOpenFiles, .outOfMemory, .readerExpired: true
    default: false
    }
  }

  /// Whether the environment must be closed, and opened again, before anything else works.
  public var isFatal: Bool {
    switch code.kind {
    case .poisoned, .corrupted, .truncated, .versionMismatch: true
    default: false
    }
  }
}

extension LMDBError: CustomStringConvertible {
  public var description: String {
    var text = "\(operation) failed on \(path): \(explanation)"
    if let detail { text += " (\(detail))" }
    return text
  }

  private var explanation: String {
    switch code.kind {
    case .mapFull: "the file reached its size limit; raise mapSize and open again, or let retention free space"
    case .diskFull: "no room is left on the device; free space and try again, nothing stored was lost"
    case .readersFull: "every reader slot is taken; close snapshots or raise maxReaders at every open"
    case .mapResized: "another process raised the file's size limit; end open snapshots and try again"
    case .readerExpired: "this snapshot was open longer than its maximum age; take a new one"
    case .corrupted: "a page is damaged; restore this file from a backup or rebuild it by replay"
    case .truncated: "the file is shorter than its contents; restore it from a backup"
    case .versionMismatch: "this is no LMDB file of a version known here"
    case .poisoned: "an earlier input/output error left the outcome of a commit unknown; close and open again"
    case .notFound: "it does not exist"
    case .permissionDenied: "permission denied; give this user read and write access to the file and its folder"
    case .readOnlyFileSystem: "a live store cannot be read on a read-only file system, where it has no locks"
    case .alreadyExists: "it exists already"
    case .invalidKey: "a key must have 1 to 511 bytes"
    case .invalidValue: "the value is too large"
    case .transactionFull: "the transaction touched too many pages; write less at once"
    case .tooManyOpenFiles: "no file handles are left; raise the limit of open files"
    case .outOfMemory: "no memory or address space is left; lower mapSize or raise the limit (ulimit -v)"
    case .openedReadOnly: "this process opened the file for reading only"
    case .badHandle: "a handle was used after its end"
    case .io: "input/output error \(errorNumber): \(LMDBError.message(errorNumber))"
    }
  }
}
