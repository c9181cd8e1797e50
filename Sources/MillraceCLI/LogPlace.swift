import Glibc
import Millrace

/// What the path of a command holds: a store with its log, or a log by itself.
enum LogPlace {
  enum Purpose: Equatable {
    case reading
    /// Takes the lock of the one who writes.
    case writing
    /// As `writing`; makes the place if there is none.
    case creating(TopicsAction.NewPlace)
  }

  case store(Store)
  case log(EventLog)

  static func open(_ path: String, _ purpose: Purpose) throws -> LogPlace {
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
      throw StoreError(.notAStore, path: path, detail: "this is a file; a store or a log is a folder, give its path")
    }
    let isReading = purpose == .reading
    do {
      if exists(path + "/FORMAT") { return .store(try openStore(path, isReading: isReading)) }
      if exists(path + "/catalog.mdb") { return .log(try openLog(path, isReading: isReading)) }
      guard case .creating(let kind) = purpose else {
        throw StoreError(.notFound, path: path, detail: "there is no store and no log; check the path")
      }
      return switch kind {
      case .store: .store(try openStore(path, isReading: false))
      case .log: .log(try openLog(path, isReading: false))
      }
    } catch let error as StoreError where error.code == .alreadyOpen {
      throw WriterBusy(path: path, cause: error)
    } catch let error as EventLogError where error.code == .alreadyOpen {
      throw WriterBusy(path: path, cause: error)
    }
  }

  private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  private static func openStore(_ path: String, isReading: Bool) throws -> Store {
    var options = Store.Options(access: isReading ? .readOnly : .readWrite, maintenanceInterval: nil)
    // A reader reports damage where it meets it.
    if isReading { options.log.damage = .report }
    return try Store.open(at: path, options)
  }

  private static func openLog(_ path: String, isReading: Bool) throws -> EventLog {
    var options = LogOptions(access: isReading ? .readOnly : .readWrite)
    if isReading { options.damage = .report }
    return try EventLog.open(at: path, options)
  }

  var log: EventLog {
    switch self {
    case .store(let store): store.log
    case .log(let log): log
    }
  }

  var path: String {
    switch self {
    case .store(let store): store.path
    case .log(let log): log.directory
    }
  }

  /// Writes what was accepted and gives the lock free.
  func close() {
    switch self {
    case .store(let store): store.close()
    case .log(let log): log.close()
    }
  }

  /// The topic called `name`.
  ///
  /// - Throws: `NameError` with the nearest name there is.
  func topic(_ name: String) throws -> PlaceTopic {
    let names = try log.topicNames()
    guard names.contains(name) else { throw NameError(kind: "topic", name: name, known: names, store: path) }
    switch self {
    case .store(let store):
      let untyped = try store.untypedTopic(name)
      return PlaceTopic(log: untyped.log, untyped: untyped)
    case .log(let log): return PlaceTopic(log: try log.topic(name), untyped: nil)
    }
  }
}

/// A topic with what its place knows of its values.
struct PlaceTopic {
  let log: LogTopic
  /// Nil in a log by itself, where values are bytes.
  var untyped: UntypedTopic?

  mutating func value(_ bytes: UnsafeRawBufferPointer) -> UntypedValue {
    unsafe untyped?.value(bytes) ?? .raw([UInt8](bytes))
  }
}

/// Somebody else writes where a command wants to write.
struct WriterBusy: Error, CustomStringConvertible {
  var path: String
  var cause: any Error

  var description: String {
    let who = (cause as? StoreError)?.detail.prefix { $0 != ";" } ?? "another process has the log open for writing"
    return "\(path): \(who), and only one process can write at a time; "
      + "make the change in that program, or end it and try again. Commands that only read work beside it"
  }
}
