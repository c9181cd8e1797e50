public import LMDB

/// What went wrong in the log: which topic, partition and offsets, in which file, and what a person can do about it.
public struct EventLogError: Error, Sendable {
  /// The kind of error. New codes may be added; switch with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable {
      case storage, unknownTopic, topicExists, topicDeleted, invalidTopic, invalidPartition, recordTooLarge
      case offsetOutOfRange, damaged, missingSegment, truncatedSegment, unsupportedFormat, alreadyOpen, readOnly
      case sequenceGap, fenced, unexpectedOffset, groupTooLarge, tooManyProducers, closed, notFound, invalidOptions
      case invalidGroup, unknownGroup, groupInUse, commitFenced, subscriptionInUse, recordFailed
    }
    let kind: Kind

    /// The file system or LMDB failed; `cause` says how. `isRetriable` tells whether trying again may help.
    public static let storage = Code(kind: .storage)
    /// No topic of that name.
    public static let unknownTopic = Code(kind: .unknownTopic)
    /// A topic of that name exists with another number of partitions.
    public static let topicExists = Code(kind: .topicExists)
    /// The topic was deleted while this handle was held.
    public static let topicDeleted = Code(kind: .topicDeleted)
    /// The name cannot be a topic's, or its settings contradict each other.
    public static let invalidTopic = Code(kind: .invalidTopic)
    /// The topic has no partition of that number.
    public static let invalidPartition = Code(kind: .invalidPartition)
    /// The record is above a limit: `size` and `limit` in bytes.
    public static let recordTooLarge = Code(kind: .recordTooLarge)
    /// The offset is not in the log: `validRange` is.
    public static let offsetOutOfRange = Code(kind: .offsetOutOfRange)
    /// A batch, or a range of offsets, cannot be read: `damagedRange`.
    public static let damaged = Code(kind: .damaged)
    /// A segment that the catalogue names is not there.
    public static let missingSegment = Code(kind: .missingSegment)
    /// A segment's file is shorter than its contents.
    public static let truncatedSegment = Code(kind: .truncatedSegment)
    /// Written by a newer version of this library.
    public static let unsupportedFormat = Code(kind: .unsupportedFormat)
    /// Another handle, here or in another process, has the log open for writing.
    public static let alreadyOpen = Code(kind: .alreadyOpen)
    /// A change was asked of a log opened for reading.
    public static let readOnly = Code(kind: .readOnly)
    /// An idempotent append skips sequence numbers: `expectedSequence` was due.
    public static let sequenceGap = Code(kind: .sequenceGap)
    /// A newer epoch of this producer has appended; the older one may not any more.
    public static let fenced = Code(kind: .fenced)
    /// A partition does not end where the append expected: `actualOffset` is its end. Nothing was written.
    public static let unexpectedOffset = Code(kind: .unexpectedOffset)
    /// Records to be appended together are above the limit of one commit: `size` and `limit` in bytes, or in records if
    /// the message says so. Split them.
    public static let groupTooLarge = Code(kind: .groupTooLarge)
    /// The topic knows as many idempotent producers as it may, and all have appended lately.
    public static let tooManyProducers = Code(kind: .tooManyProducers)
    /// The log was closed.
    public static let closed = Code(kind: .closed)
    /// There is no log in that directory.
    public static let notFound = Code(kind: .notFound)
    /// A setting is out of its range.
    public static let invalidOptions = Code(kind: .invalidOptions)
    /// The name cannot be a consumer group's.
    public static let invalidGroup = Code(kind: .invalidGroup)
    /// No consumer group of that name.
    public static let unknownGroup = Code(kind: .unknownGroup)
    /// Another process, or another handle in this one, holds the consumer group.
    public static let groupInUse = Code(kind: .groupInUse)
    /// The partition was given to another member of the group meanwhile: what it commits counts.
    public static let commitFenced = Code(kind: .commitFenced)
    /// The subscription is being consumed already; another consumer needs a subscription of its own.
    public static let subscriptionInUse = Code(kind: .subscriptionInUse)
    /// A consumer's closure failed on a record, after all attempts; `underlying` is its last error.
    public static let recordFailed = Code(kind: .recordFailed)

    public var description: String { kind.rawValue }
  }

  public var code: Code
  /// What happened, where, and what to do.
  public var message: String
  public var topic: String?
  public var partition: Int?
  /// For `offsetOutOfRange`: the offsets that can be read; the upper bound is the next one to be written.
  public var validRange: Range<Int64>?
  /// For `damaged`, `missingSegment`, `truncatedSegment`: the offsets that cannot be read.
  public var damagedRange: Range<Int64>?
  /// For `recordTooLarge` and `groupTooLarge`: the size found and the limit, in bytes.
  public var size: Int?
  public var limit: Int?
  /// For `sequenceGap`: the sequence number that was due.
  public var expectedSequence: Int64?
  /// For `unexpectedOffset`: the partition's end, the offset that its next record will have.
  public var actualOffset: Int64?
  public var path: String?
  public var cause: LMDBError?
  /// For `recordFailed`: the record's offset, how often it was tried, and the last error.
  public var offset: Int64?
  public var attempts: Int?
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, topic: String? = nil, partition: Int? = nil, path: String? = nil) {
    self.code = code
    self.message = message
    self.topic = topic
    self.partition = partition
    self.path = path
  }

  /// Whether the same call may succeed later without a change to the program.
  public var isRetriable: Bool {
    switch code.kind {
    case .storage: cause?.isRetriable ?? false
    default: false
    }
  }
}

extension EventLogError {
  /// Whether it is not known if what was to be written is there.
  var isOutcomeUnknown: Bool { cause?.code == .poisoned || cause?.code == .io }
}

extension EventLogError: CustomStringConvertible {
  public var description: String {
    var place: [String] = []
    if let topic { place.append("topic \(topic)") }
    if let partition { place.append("partition \(partition)") }
    if let path { place.append(path) }
    let prefix = place.isEmpty ? "" : place.joined(separator: ", ") + ": "
    return prefix + message + (cause.map { ": \($0)" } ?? "")
  }
}

extension EventLogError {
  /// A failure of the storage below, with the step that failed.
  init(_ cause: LMDBError, _ step: String, topic: String? = nil, path: String? = nil) {
    self.init(.storage, step, topic: topic, path: path ?? cause.path)
    self.cause = cause
  }

  /// Any error of a storage step as the log's own.
  init(wrapping error: any Error, _ step: String, topic: String? = nil) {
    if let error = error as? EventLogError {
      self = error
    } else if let error = error as? LMDBError {
      self.init(error, step, topic: topic)
    } else {
      self.init(.storage, "\(step): \(error)", topic: topic)
    }
  }

  static func offsetOutOfRange(_ offset: Int64, _ valid: Range<Int64>, topic: String, partition: Int) -> EventLogError {
    var error = EventLogError(
      .offsetOutOfRange,
      "offset \(offset) is not in the log, which holds \(valid.lowerBound)..<\(valid.upperBound); "
        + "seek to one of these, or to the start or the end", topic: topic, partition: partition)
    error.validRange = valid
    return error
  }

  static func damaged(
    _ range: Range<Int64>, _ reason: String, topic: String, partition: Int, path: String
  ) -> EventLogError {
    var error = EventLogError(
      .damaged,
      "offsets \(range.lowerBound)..<\(range.upperBound) cannot be read: \(reason); the rest of the log is readable: "
        + "restore the segment from a backup, or read on by skipping damage", topic: topic, partition: partition,
      path: path)
    error.damagedRange = range
    return error
  }

  static func recordTooLarge(_ what: String, size: Int, limit: Int, topic: String) -> EventLogError {
    var error = EventLogError(
      .recordTooLarge, "\(what) of \(size) bytes is above the limit of \(limit) bytes; nothing of it was written",
      topic: topic)
    error.size = size
    error.limit = limit
    return error
  }
}
