/// What `Store.verify` read, and what is wrong.
public struct StoreVerification: Codable, Hashable, Sendable {
  /// One finding: everything not named in one is readable.
  public struct Damage: Codable, Hashable, Sendable, CustomStringConvertible {
    /// What is concerned: "topic purchases, partition 3", "view products", "job materialize, state totals".
    public var subject: String
    /// The file.
    public var path: String
    /// What was found.
    public var detail: String

    public init(subject: String, path: String, detail: String) {
      self.subject = subject
      self.path = path
      self.detail = detail
    }

    public var description: String { "\(subject): \(detail) (\(path))" }
  }

  public struct View: Codable, Hashable, Sendable {
    public var name: String
    public var rows: Int
    public var groups: Int
    /// Entries of all indexes: each was found equal to what a scan says.
    public var indexEntries: Int
    public var bytes: Int
  }

  /// The last checkpoint that was looked at.
  public var checkpoint: UInt64 = 0
  /// Pages of LMDB files that were walked.
  public var pages = 0
  public var topics = 0
  public var segments = 0
  public var batches = 0
  public var records: Int64 = 0
  public var logBytes = 0
  public var jobs = 0
  public var states = 0
  public var stateEntries = 0
  public var stateBytes = 0
  public var outboxRows = 0
  public var views: [View] = []
  public var damages: [Damage] = []
  /// What was not looked at because of damage elsewhere, in words.
  public var unchecked: [String] = []

  public init() {}

  public var isSound: Bool { damages.isEmpty }
}

/// How far a verification is: bytes of its stage.
public struct VerificationProgress: Hashable, Sendable {
  public enum Stage: String, Sendable {
    /// The pages of all files.
    case pages
    /// The batches of the log.
    case log
    /// Jobs, their states, the outbox.
    case state
    case views
  }

  public var stage: Stage
  public var bytes: Int
  public var totalBytes: Int
}
