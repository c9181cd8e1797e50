/// What went wrong in a job: while it was built, started, run or checkpointed.
///
/// Switch over `code`; new codes may appear in later versions.
public struct DataflowError: Error, Sendable, CustomStringConvertible {
  /// The kind of error.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String, Sendable {
      case duplicateName, invalidName, invalidArgument, noSink, noSource, notKeyed, foreignStream, duplicateOwner
      case unmappedState, unknownState, stateMismatch, unknownSource, sourceChanged, drained, alreadyRunning
      case operatorFailed, sourceFailed, sinkFailed, checkpointFailed, storeFailed, newerFormat, damaged, stopped
      case threadFailed
    }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }
    public var description: String { kind.rawValue }

    /// A name is used twice where it must be unique.
    public static let duplicateName = Code(.duplicateName)
    /// A name is empty or too long.
    public static let invalidName = Code(.invalidName)
    /// A setting is out of its range.
    public static let invalidArgument = Code(.invalidArgument)
    /// A stream ends without a sink or a named state.
    public static let noSink = Code(.noSink)
    /// A job has no source.
    public static let noSource = Code(.noSource)
    /// `keyed()` was asked of a stream whose records carry no key bytes.
    public static let notKeyed = Code(.notKeyed)
    /// Streams of two different flows were joined.
    public static let foreignStream = Code(.foreignStream)
    /// Two operators or sinks write the same resource, as a view column.
    public static let duplicateOwner = Code(.duplicateOwner)
    /// The store holds state of the job that no operator of the job claims.
    public static let unmappedState = Code(.unmappedState)
    /// A state that was to be dropped or renamed is not in the store.
    public static let unknownState = Code(.unknownState)
    /// A state's kind differs from what the store holds under its name.
    public static let stateMismatch = Code(.stateMismatch)
    /// The store holds positions of a source that the job no longer reads.
    public static let unknownSource = Code(.unknownSource)
    /// A source has fewer partitions than the store holds positions of.
    public static let sourceChanged = Code(.sourceChanged)
    /// The job was drained: everything pending was fired, so it cannot go on.
    public static let drained = Code(.drained)
    /// A job of this name is running already.
    public static let alreadyRunning = Code(.alreadyRunning)
    /// An operator's closure threw under the policy *fail*.
    public static let operatorFailed = Code(.operatorFailed)
    /// A source could not be opened or read.
    public static let sourceFailed = Code(.sourceFailed)
    /// A sink could not be opened or written.
    public static let sinkFailed = Code(.sinkFailed)
    /// A checkpoint could not be committed; the last one is intact.
    public static let checkpointFailed = Code(.checkpointFailed)
    /// The state file could not be read or written.
    public static let storeFailed = Code(.storeFailed)
    /// The store was written by a newer version of the library.
    public static let newerFormat = Code(.newerFormat)
    /// A record of the job catalogue does not pass its checks.
    public static let damaged = Code(.damaged)
    /// The checkpoint store was closed.
    public static let stopped = Code(.stopped)
    /// The operating system refused a thread.
    public static let threadFailed = Code(.threadFailed)
  }

  public let code: Code
  /// What it is about: a job, an operator, a source or a state, by name.
  public let subject: String
  /// What happened and what to do about it, for a person.
  public let detail: String
  /// The error beneath, if there is one.
  public let cause: (any Error)?
  /// Whether the same call may succeed later without a change to program or configuration.
  public let isRetriable: Bool

  public init(
    _ code: Code, _ subject: String, _ detail: String, cause: (any Error)? = nil, isRetriable: Bool = false
  ) {
    self.code = code
    self.subject = subject
    self.detail = detail
    self.cause = cause
    self.isRetriable = isRetriable
  }

  public var description: String {
    var text = "\(code): \(subject): \(detail)"
    if let cause { text += " (cause: \(cause))" }
    return text
  }
}
