import CrashSupport
import Glibc
import LMDB

/// `lmdb-commits PATH SEED FIRST LAST [noMetaSync]`: commits these transactions of a `CommitWorkload`, and says each
/// one's number when it is acknowledged. The number is stored with it, under the key "last".
enum LMDBCommits {
  static func run(_ arguments: [String]) {
    guard arguments.count >= 4, let seed = UInt64(arguments[1]), let first = Int(arguments[2]),
      let last = Int(arguments[3])
    else {
      Child.say("usage: lmdb-commits PATH SEED FIRST LAST [noMetaSync]")
      exit(64)
    }
    do {
      var options = Environment.Options(mapSize: 64 << 20, databases: ["main"])
      if arguments.last == "noMetaSync" { options.durability = .noMetaSync }
      let environment = try Environment.open(at: arguments[0], options)
      let database = try environment.database("main")
      let workload = CommitWorkload(seed: seed)
      Child.say("opened")
      for number in first...last {
        try environment.write { transaction in
          for (key, value) in workload.changes(in: number) {
            try withUnsafeBytes(of: key.bigEndian) { key in
              if let value {
                try value.withUnsafeBytes { try transaction.put(database, key: key, value: $0) }
              } else {
                try transaction.delete(database, key: key)
              }
            }
          }
          try Array("last".utf8).withUnsafeBytes { key in
            try withUnsafeBytes(of: number) { try transaction.put(database, key: key, value: $0) }
          }
        }
        Child.say("committed \(number)")
      }
    } catch {
      Child.say("error \(error)")
      exit(1)
    }
  }
}
