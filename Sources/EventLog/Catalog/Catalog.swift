import Bytes
import LMDB

/// The catalogue: `catalog.mdb` in the log's directory, which names topics and segments. What it does not name does
/// not exist; every change of what exists is one synced transaction in it.
///
/// | database | key | value |
/// |---|---|---|
/// | `settings` | `format` | u32, 1 |
/// | `settings` | `next topic`, `next segment` | u64, never used again once given |
/// | `topics` | name in UTF-8 | `TopicRecord` |
/// | `segments` | topic id u64 ‖ segment number u64, big-endian | `SegmentRecord` |
struct Catalog: Sendable {
  static let fileName = "catalog.mdb"
  static let format: UInt32 = 1

  let environment: Environment
  private let settings: Database
  private let topics: Database
  private let segments: Database

  static func open(in directory: String, isWritable: Bool) throws(EventLogError) -> Catalog {
    let path = directory + "/" + fileName
    do {
      let environment = try Environment.open(
        at: path,
        Environment.Options(
          mapSize: 4 << 30, databases: ["settings", "topics", "segments"], access: isWritable ? .readWrite : .readOnly))
      let catalog = Catalog(
        environment: environment, settings: try environment.database("settings"),
        topics: try environment.database("topics"), segments: try environment.database("segments"))
      try catalog.checkFormat(isWritable: isWritable)
      return catalog
    } catch let error as LMDBError where error.code == .notFound {
      throw EventLogError(.notFound, "there is no log here; open it for writing to create one", path: path)
    } catch {
      throw EventLogError(wrapping: error, "opening the log's catalogue failed")
    }
  }

  private func checkFormat(isWritable: Bool) throws {
    let found = try environment.read { try setting("format", in: $0) }
    if found == nil && isWritable {
      try environment.write { try setFormat(Self.format, in: $0) }
    } else if found == nil {
      throw EventLogError(
        .notFound, "the log is just being created by another process; open it again", path: environment.path)
    } else if found != UInt64(Self.format) {
      throw EventLogError(
        .unsupportedFormat,
        "the log has format \(found.map(String.init) ?? "none"), this library reads \(Self.format); upgrade it",
        path: environment.path)
    }
  }

  func setFormat(_ format: UInt32, in transaction: borrowing WriteTransaction) throws {
    try set("format", UInt64(format), in: transaction)
  }

  private func setting(_ name: String, in transaction: borrowing some ReadableTransaction & ~Copyable) throws -> UInt64?
  {
    try unsafe Array(name.utf8).withUnsafeBytes { key in
      guard let value = unsafe try transaction.get(settings, key), value.count == 8 else { return nil }
      return unsafe value.little(UInt64.self, at: 0)
    }
  }

  private func set(_ name: String, _ value: UInt64, in transaction: borrowing WriteTransaction) throws {
    var buffer = ByteBuffer(capacity: 8)
    buffer.append(value)
    try put(settings, Array(name.utf8), buffer.array, in: transaction)
  }

  private func put(_ database: Database, _ key: [UInt8], _ value: [UInt8], in transaction: borrowing WriteTransaction)
    throws
  {
    try unsafe key.withUnsafeBytes { key in
      try unsafe value.withUnsafeBytes { unsafe try transaction.put(database, key: key, value: $0) }
    }
  }

  /// Runs `change` as one synced transaction.
  func write<R>(_ step: String, _ change: (borrowing WriteTransaction) throws -> R) throws(EventLogError) -> R {
    do {
      return try environment.write(change)
    } catch {
      throw EventLogError(wrapping: error, step)
    }
  }

  /// The next number of `what` ("topic", "segment"), used up when the transaction commits.
  func allot(_ what: String, in transaction: borrowing WriteTransaction) throws -> UInt64 {
    let next = try setting("next " + what, in: transaction) ?? 1
    try set("next " + what, next + 1, in: transaction)
    return next
  }

  /// Uses up the segment number `number`.
  func use(segment number: UInt64, in transaction: borrowing WriteTransaction) throws {
    let next = try setting("next segment", in: transaction) ?? 1
    if next <= number { try set("next segment", number + 1, in: transaction) }
  }

  /// The numbers that `allot` will give next.
  func nextSegment() throws(EventLogError) -> UInt64 { try next("segment") }
  func nextTopic() throws(EventLogError) -> UInt64 { try next("topic") }

  private func next(_ what: String) throws(EventLogError) -> UInt64 {
    do {
      return try environment.read { try setting("next " + what, in: $0) ?? 1 }
    } catch {
      throw EventLogError(wrapping: error, "reading the catalogue failed")
    }
  }

  func put(topic name: String, _ record: TopicRecord, in transaction: borrowing WriteTransaction) throws {
    try put(topics, Array(name.utf8), record.encoded(), in: transaction)
  }

  func put(_ segment: SegmentRecord, in transaction: borrowing WriteTransaction) throws {
    try put(segments, segment.key, segment.encoded(), in: transaction)
  }

  func remove(topic name: String, in transaction: borrowing WriteTransaction) throws {
    let key = Array(name.utf8)
    _ = try unsafe key.withUnsafeBytes { unsafe try transaction.delete(topics, key: $0) }
  }

  func remove(_ segment: SegmentRecord, in transaction: borrowing WriteTransaction) throws {
    let key = segment.key
    _ = try unsafe key.withUnsafeBytes { unsafe try transaction.delete(segments, key: $0) }
  }

  /// Everything that the catalogue names, as of one commit.
  func load() throws(EventLogError) -> (topics: [String: TopicRecord], segments: [UInt64: [SegmentRecord]]) {
    do {
      return try environment.read { transaction in
        var named: [String: TopicRecord] = [:]
        try transaction.withCursor(topics) { cursor in
          var isThere = try cursor.first()
          while isThere {
            let name = unsafe String(decoding: unsafe cursor.key, as: UTF8.self)
            named[name] = unsafe try TopicRecord(cursor.value, path: environment.path)
            isThere = try cursor.next()
          }
        }
        var found: [UInt64: [SegmentRecord]] = [:]
        try transaction.withCursor(segments) { cursor in
          var isThere = try cursor.first()
          while isThere {
            let record = unsafe try SegmentRecord(key: cursor.key, value: cursor.value, path: environment.path)
            found[record.topic, default: []].append(record)
            isThere = try cursor.next()
          }
        }
        return (named, found.mapValues { $0.inOrder() })
      }
    } catch {
      throw EventLogError(wrapping: error, "reading the log's catalogue failed")
    }
  }

  /// The topic of that name with its segments, oldest first; nil if there is none. Costs as much however many others
  /// there are.
  func find(_ name: String) throws(EventLogError) -> (topic: TopicRecord, segments: [SegmentRecord])? {
    if name.isEmpty || name.utf8.count > Database.maximumKeySize { return nil }
    let record: TopicRecord?
    do {
      record = try environment.read { transaction in
        try unsafe Array(name.utf8).withUnsafeBytes { key in
          unsafe try transaction.get(topics, key).map { unsafe try TopicRecord($0, path: environment.path) }
        }
      }
    } catch {
      throw EventLogError(wrapping: error, "reading the log's catalogue failed", topic: name)
    }
    guard let record, let segments = try segments(of: record.id, named: name) else { return nil }
    return (record, segments)
  }

  /// The segments of one topic, oldest first; nil if the topic is gone.
  func segments(of topic: UInt64, named name: String) throws(EventLogError) -> [SegmentRecord]? {
    do {
      return try environment.read { transaction in
        let isThere = try unsafe Array(name.utf8).withUnsafeBytes { key -> Bool in
          guard let value = unsafe try transaction.get(topics, key) else { return false }
          return unsafe try TopicRecord(value, path: environment.path).id == topic
        }
        guard isThere else { return nil }
        var found: [SegmentRecord] = []
        try transaction.withCursor(segments) { cursor in
          var isInside = try unsafe SegmentRecord.key(topic: topic, number: 0).withUnsafeBytes {
            unsafe try cursor.seek(atLeast: $0)
          }
          while isInside {
            let record = unsafe try SegmentRecord(key: cursor.key, value: cursor.value, path: environment.path)
            if record.topic != topic { break }
            found.append(record)
            isInside = try cursor.next()
          }
        }
        return found.inOrder()
      }
    } catch {
      throw EventLogError(wrapping: error, "reading the log's catalogue failed", topic: name)
    }
  }
}

extension [SegmentRecord] {
  /// Oldest first. A number does not tell: a segment that replaced others has a later one.
  fileprivate func inOrder() -> [SegmentRecord] {
    sorted { ($0.firstSequence, $0.number) < ($1.firstSequence, $1.number) }
  }
}
