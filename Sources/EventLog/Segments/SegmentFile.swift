import Bytes
import LMDB

/// One open segment: an environment with three databases. See `LogKeys.swift` for what is in them.
final class SegmentFile: Sendable {
  static let databases = ["batches", "index", "meta"]

  let path: String
  let number: UInt64
  let environment: Environment
  let batches: Database
  let index: Database
  let meta: Database

  init(path: String, number: UInt64, _ options: Environment.Options) throws(LMDBError) {
    self.path = path
    self.number = number
    environment = try Environment.open(at: path, options)
    batches = try environment.database("batches")
    index = try environment.database("index")
    meta = try environment.database("meta")
  }

  /// Opens a segment that exists. `mapBytes` must be what the writer uses while it is live.
  static func open(
    _ path: String, number: UInt64, topic: String, access: Environment.Access, mapBytes: Int
  ) throws(EventLogError) -> SegmentFile {
    if LogFiles.size(path) == nil { throw missing(path, topic: topic) }
    do {
      // Opening for writing would begin a file anew that was cut down to nothing.
      if access == .readWrite { try Environment.checkLength(at: path) }
      return try SegmentFile(
        path: path, number: number,
        Environment.Options(
          mapSize: access == .sealed ? 1 << 20 : mapBytes, databases: databases, access: access))
    } catch {
      throw failure(error, topic: topic, path: path)
    }
  }

  /// Refuses a segment that is missing or cut off, without opening it.
  static func checkLength(_ path: String, topic: String) throws(EventLogError) {
    if LogFiles.size(path) == nil { throw missing(path, topic: topic) }
    do { try Environment.checkLength(at: path) } catch { throw failure(error, topic: topic, path: path) }
  }

  private static func missing(_ path: String, topic: String) -> EventLogError {
    EventLogError(
      .missingSegment, "a segment that the catalogue names is missing; restore it from a backup", topic: topic,
      path: path)
  }

  private static func failure(_ error: LMDBError, topic: String, path: String) -> EventLogError {
    switch error.code {
    case .truncated:
      var failure = EventLogError(error, "a segment is cut off", topic: topic, path: path)
      failure.code = .truncatedSegment
      return failure
    case .corrupted, .versionMismatch, .notFound:
      var failure = EventLogError(
        error, "a segment's own pages are damaged; restore it from a backup", topic: topic, path: path)
      failure.code = .damaged
      return failure
    default: return EventLogError(error, "opening a segment failed", topic: topic)
    }
  }

  /// Creates a segment with its header, every partition's next offset and the producers' last sequences; synced.
  ///
  /// The caller syncs the directory and names the segment in the catalogue.
  static func create(
    _ path: String, _ record: SegmentRecord, producers: ProducerTable, topic: String, mapBytes: Int
  ) throws(EventLogError) -> SegmentFile {
    // Left by an attempt that failed half-way; the catalogue does not name it.
    try LogFiles.removeSegment(path)
    do {
      let file = try SegmentFile(
        path: path, number: record.number, Environment.Options(mapSize: mapBytes, databases: databases))
      try file.environment.write { transaction in
        try file.put(SegmentMeta.headerKey, SegmentMeta.header(record), in: transaction)
        for (partition, start) in record.starts.enumerated() {
          try file.put(SegmentMeta.startKey(partition), SegmentMeta.start(start), in: transaction)
        }
        for (key, entry) in producers.entries {
          try file.put(SegmentMeta.producerKey(key), SegmentMeta.producer(entry), in: transaction)
        }
        for (producer, name) in producers.registrations {
          try file.put(SegmentMeta.registrationKey(producer), SegmentMeta.registration(name), in: transaction)
        }
      }
      return file
    } catch {
      try? LogFiles.removeSegment(path)
      throw EventLogError(wrapping: error, "creating a segment failed", topic: topic)
    }
  }

  func put(_ key: [UInt8], _ value: [UInt8], in transaction: borrowing WriteTransaction) throws(LMDBError) {
    do {
      try unsafe key.withUnsafeBytes { key in
        try unsafe value.withUnsafeBytes { unsafe try transaction.put(meta, key: key, value: $0) }
      }
    } catch let error as LMDBError {
      throw error
    } catch {
      throw LMDBError(.io, path: path, operation: "put", detail: "\(error)")
    }
  }
}

/// The entries of a segment's `meta` database.
enum SegmentMeta {
  static let headerKey: [UInt8] = [0]

  static func header(_ record: SegmentRecord) -> [UInt8] {
    var body = ByteBuffer()
    body.append(record.topic)
    body.append(record.number)
    body.append(record.firstSequence)
    body.append(record.createdAt.microseconds)
    body.append(UInt32(truncatingIfNeeded: record.starts.count))
    return Sealed.wrap(body)
  }

  /// Whether `bytes` are the header of the segment that `record` names.
  static func matches(_ bytes: UnsafeRawBufferPointer, _ record: SegmentRecord) -> Bool {
    unsafe [UInt8](bytes) == header(record)
  }

  static func startKey(_ partition: Int) -> [UInt8] {
    var key = ByteBuffer(capacity: 5)
    key.append(UInt8(1))
    key.append(bigEndian: UInt32(truncatingIfNeeded: partition))
    return key.array
  }

  static func start(_ offset: Int64) -> [UInt8] {
    var value = ByteBuffer(capacity: 8)
    value.append(offset)
    return value.array
  }
}
