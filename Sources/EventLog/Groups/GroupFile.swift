import Bytes
import LMDB
import Synchronization

/// The file in which a group's committed offsets are; see `GroupStore` for its tables.
struct GroupFile: Sendable {
  private let environment: Environment
  private let settings: Database
  private let topics: Database
  private let offsets: Database

  /// In one process a file is not opened for reading and then for writing: one at a time looks inside or opens.
  private static let opening = Mutex(())

  /// - Throws: `notFound` if it is not there and is not to be written; `unsupportedFormat`, `storage`.
  static func open(_ group: String, in log: String, isWritable: Bool) throws(EventLogError) -> GroupFile {
    try exclusively { () throws(EventLogError) in try GroupFile(group, in: log, isWritable: isWritable) }
  }

  /// What `body` finds in the group's file, opened for reading and closed again.
  static func look<R: Sendable>(
    _ group: String, in log: String, _ body: (GroupFile) throws(EventLogError) -> R
  ) throws(EventLogError) -> R {
    try exclusively { () throws(EventLogError) in try body(GroupFile(group, in: log, isWritable: false)) }
  }

  private static func exclusively<R: Sendable>(_ body: () throws(EventLogError) -> R) throws(EventLogError) -> R {
    let result = opening.withLock { _ -> Result<R, EventLogError> in
      do throws(EventLogError) { return .success(try body()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private init(_ group: String, in log: String, isWritable: Bool) throws(EventLogError) {
    let path = GroupFiles.path(group, in: log)
    do {
      environment = try Environment.open(
        at: path,
        Environment.Options(
          mapSize: 4 << 30, databases: GroupStore.databases, access: isWritable ? .readWrite : .readOnly))
      settings = try environment.database("settings")
      topics = try environment.database("topics")
      offsets = try environment.database("offsets")
      try checkFormat(isWritable)
    } catch let error as LMDBError where error.code == .notFound {
      throw EventLogError(
        .unknownGroup, "there is no group \(group); it begins with its first subscription", path: path)
    } catch {
      throw EventLogError(wrapping: error, "opening the file of the group \(group) failed")
    }
  }

  private func checkFormat(_ isWritable: Bool) throws {
    let key = Array("format".utf8)
    let found = try environment.read { transaction in
      try unsafe key.withUnsafeBytes { key -> UInt64? in
        guard let value = unsafe try transaction.get(settings, key), value.count == 8 else { return nil }
        return unsafe value.little(UInt64.self, at: 0)
      }
    }
    if found == GroupStore.format { return }
    guard found == nil && isWritable else {
      throw EventLogError(
        .unsupportedFormat,
        "the group's file has format \(found.map(String.init) ?? "none"), this library reads \(GroupStore.format); "
          + "upgrade it", path: environment.path)
    }
    try environment.write { transaction in
      var value = ByteBuffer(capacity: 8)
      value.append(GroupStore.format)
      try put(settings, key, value.array, in: transaction)
    }
  }

  // MARK: Reading

  /// The topics of the group by their numbers.
  func topicNames() throws(EventLogError) -> [UInt64: String] {
    try read { transaction in
      var names: [UInt64: String] = [:]
      try transaction.withCursor(topics) { cursor in
        var isThere = try cursor.first()
        while isThere {
          if unsafe cursor.key.count == 8 {
            unsafe names[cursor.key.big(UInt64.self, at: 0)] = String(decoding: cursor.value, as: UTF8.self)
          }
          isThere = try cursor.next()
        }
      }
      return names
    }
  }

  /// What is committed in a topic, by partition.
  func offsets(of topic: UInt64) throws(EventLogError) -> [Int: CommittedOffset] {
    try read { transaction in
      var found: [Int: CommittedOffset] = [:]
      try transaction.withCursor(offsets) { cursor in
        var isThere = try unsafe CommittedOffset.key(topic: topic, partition: 0).withUnsafeBytes {
          unsafe try cursor.seek(atLeast: $0)
        }
        while isThere, unsafe cursor.key.count == 12, unsafe cursor.key.big(UInt64.self, at: 0) == topic {
          let partition = Int(unsafe cursor.key.big(UInt32.self, at: 8))
          found[partition] = unsafe try CommittedOffset(cursor.value, path: environment.path)
          isThere = try cursor.next()
        }
      }
      return found
    }
  }

  private func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws(EventLogError) -> R {
    do {
      return try environment.read(body)
    } catch {
      throw EventLogError(wrapping: error, "reading a group's file failed")
    }
  }

  /// Copies the file, synced.
  func backup(to path: String) throws(EventLogError) {
    do {
      try environment.backup(to: path)
    } catch {
      throw EventLogError(error, "copying a group's file failed")
    }
  }

  // MARK: Writing

  /// Runs `change` as one synced transaction.
  func write(_ change: (borrowing WriteTransaction) throws -> Void) throws(EventLogError) {
    do {
      try environment.write(change)
    } catch {
      throw EventLogError(wrapping: error, "committing offsets failed, none of them was committed")
    }
  }

  func put(
    topic: UInt64, partition: Int, _ offset: CommittedOffset, in transaction: borrowing WriteTransaction
  ) throws {
    try put(offsets, CommittedOffset.key(topic: topic, partition: partition), offset.encoded(), in: transaction)
  }

  private func put(
    _ database: Database, _ key: [UInt8], _ value: [UInt8], in transaction: borrowing WriteTransaction
  ) throws {
    try unsafe key.withUnsafeBytes { key in
      try unsafe value.withUnsafeBytes { unsafe try transaction.put(database, key: key, value: $0) }
    }
  }

  /// Notes the name of a topic, if it is not known.
  func name(_ topic: UInt64, _ name: String) throws(EventLogError) {
    if try topicNames()[topic] == name { return }
    try write { transaction in
      var key = ByteBuffer(capacity: 8)
      key.append(bigEndian: topic)
      try put(topics, key.array, Array(name.utf8), in: transaction)
    }
  }

  /// Removes all of the topics that are not in `kept`.
  func forget(allBut kept: Set<UInt64>) throws(EventLogError) {
    let gone = try topicNames().keys.filter { !kept.contains($0) }
    if gone.isEmpty { return }
    var keys: [(Database, [UInt8])] = []
    for topic in gone {
      var key = ByteBuffer(capacity: 8)
      key.append(bigEndian: topic)
      keys.append((topics, key.array))
      for partition in try offsets(of: topic).keys {
        keys.append((offsets, CommittedOffset.key(topic: topic, partition: partition)))
      }
    }
    let removed = keys
    try write { transaction in
      for (database, key) in removed {
        _ = try unsafe key.withUnsafeBytes { unsafe try transaction.delete(database, key: $0) }
      }
    }
  }
}
