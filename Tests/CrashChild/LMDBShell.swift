import Glibc
import LMDB

/// `lmdb`: one environment, driven line by line; every command is answered with one line: its result, "ok", or
/// "error CODE DETAIL".
///
///     user ID                      give up root
///     limit BYTES                  no file may grow beyond
///     open PATH ACCESS [MAP [READERS]]
///     put KEY SIZE [COUNT]         one transaction of COUNT values
///     get KEY                      the size of its value, through the open read transaction if there is one
///     begin, renew, end            the read transaction
///     write-held KEY               a write transaction that stays open until the next line: "commit" or "abort"
///     readers, stale, id, backup PATH, close
final class LMDBShell {
  private var environment: Environment?
  private var reader: ReadTransaction?

  func run() {
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      do {
        Child.say(try answer(words))
      } catch let error as LMDBError {
        Child.say("error \(error.code) \(error)")
      } catch {
        Child.say("error \(error)")
      }
    }
  }

  private func answer(_ words: [String]) throws -> String {
    switch (words.first ?? "", words.count) {
    case ("user", 2): return setgid(UInt32(words[1]) ?? 0) == 0 && setuid(UInt32(words[1]) ?? 0) == 0 ? "ok" : "error"
    case ("limit", 2): return limitFileSize(words[1])
    case ("open", 3...): return try open(words)
    case ("close", 1):
      reader = nil
      environment = nil
      return "ok"
    case ("begin", 1):
      reader = try opened().beginRead()
      return "ok"
    case ("renew", 1):
      try reader?.renew()
      return "ok"
    case ("end", 1):
      reader = nil
      return "ok"
    case ("put", 3...): return try put(words[1], Int(words[2]) ?? 0, words.count > 3 ? Int(words[3]) ?? 1 : 1)
    case ("get", 2): return try get(words[1])
    case ("write-held", 2): return try holdWrite(words[1])
    case ("readers", 1):
      return try opened().openReaders().map { "\($0.processID)@\($0.transactionID)" }.joined(separator: " ")
    case ("stale", 1): return String(try opened().clearStaleReaders())
    case ("id", 1): return String(try opened().lastTransactionID)
    case ("backup", 2):
      try opened().backup(to: words[1])
      return "ok"
    default: return "error unknown command"
    }
  }

  private func opened() throws -> Environment {
    guard let environment else { throw LMDBError(.badHandle, path: "", operation: "use before open") }
    return environment
  }

  private func limitFileSize(_ text: String) -> String {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    limit.rlim_cur = rlim_t(text) ?? limit.rlim_max
    return setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 ? "ok" : "error"
  }

  private func open(_ words: [String]) throws -> String {
    let access: Environment.Access =
      switch words[2] {
      case "readOnly": .readOnly
      case "sealed": .sealed
      default: .readWrite
      }
    let mapSize = words.count > 3 ? Int(words[3]) : nil
    let readers = words.count > 4 ? Int(words[4]) : nil
    environment = try Environment.open(
      at: words[1],
      .init(mapSize: mapSize ?? 64 << 20, maxReaders: readers ?? 126, databases: ["main"], access: access))
    return "ok"
  }

  private func put(_ key: String, _ size: Int, _ count: Int) throws -> String {
    let database = try opened().database("main")
    let value = [UInt8](repeating: 7, count: size)
    try opened().write { transaction in
      for number in 0..<count {
        let name = count == 1 ? key : "\(key)-\(number)"
        try Array(name.utf8).withUnsafeBytes { key in
          try value.withUnsafeBytes { try transaction.put(database, key: key, value: $0) }
        }
      }
    }
    return "ok"
  }

  private func get(_ key: String) throws -> String {
    let database = try opened().database("main")
    let environment = try opened()
    let size = try Array(key.utf8).withUnsafeBytes { key in
      switch reader {
      case .some(let reader): try reader.get(database, key)?.count
      case nil: try environment.read { try $0.get(database, key)?.count }
      }
    }
    return size.map(String.init) ?? "none"
  }

  private func holdWrite(_ key: String) throws -> String {
    struct Aborted: Error {}
    let database = try opened().database("main")
    do {
      try opened().write { transaction in
        try Array(key.utf8).withUnsafeBytes { try transaction.put(database, key: $0, value: $0) }
        Child.say("writing")
        if readLine() != "commit" { throw Aborted() }
      }
    } catch is Aborted {
      return "aborted"
    }
    return "committed"
  }
}
