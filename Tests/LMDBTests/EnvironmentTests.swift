import LMDB
import Testing

@Suite struct EnvironmentTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func put(_ environment: Environment, _ key: String, _ value: String) throws {
    let database = try environment.database("main")
    try environment.write { transaction in
      try Array(key.utf8).withUnsafeBytes { key in
        try Array(value.utf8).withUnsafeBytes { value in
          try transaction.put(database, key: key, value: value)
        }
      }
    }
  }

  private func get(_ transaction: borrowing ReadTransaction, _ database: Database, _ key: String) throws -> String? {
    try Array(key.utf8).withUnsafeBytes { key in
      guard let found = try transaction.get(database, key) else { return nil }
      return String(decoding: Array(found), as: UTF8.self)
    }
  }

  @Test func committedValuesAreReadBackAfterReopening() throws {
    let path = folder.file("a.mdb")
    do {
      let environment = try Environment.open(at: path, .init(databases: ["main"]))
      try put(environment, "key", "value")
    }
    let environment = try Environment.open(at: path, .init(databases: ["main"]))
    let database = try environment.database("main")
    #expect(try environment.read { try get($0, database, "key") } == "value")
  }

  @Test func openingTheSameFileTwiceSharesOneEnvironment() throws {
    let path = folder.file("a.mdb")
    let first = try Environment.open(at: path, .init(databases: ["main"]))
    do {
      let second = try Environment.open(at: folder.path + "/./a.mdb", .init(databases: ["other"]))
      try put(second, "key", "from the second")
      _ = try second.database("other")
    }
    let database = try first.database("main")
    #expect(try first.read { try get($0, database, "key") } == "from the second")
  }

  @Test func aReadTransactionSeesOneCommitUntilRenewed() throws {
    let environment = try Environment.open(at: folder.file("a.mdb"), .init(databases: ["main"]))
    let database = try environment.database("main")
    try put(environment, "key", "old")
    var transaction = try environment.beginRead()
    try put(environment, "key", "new")
    #expect(try get(transaction, database, "key") == "old")
    try transaction.renew()
    #expect(try get(transaction, database, "key") == "new")
    #expect(transaction.id == environment.lastTransactionID)
  }

  @Test func anErrorInTheBodyUndoesTheTransaction() throws {
    struct Refused: Error {}
    let environment = try Environment.open(at: folder.file("a.mdb"), .init(databases: ["main"]))
    let database = try environment.database("main")
    #expect(throws: Refused.self) {
      try environment.write { transaction in
        let key: [UInt8] = [1]
        try key.withUnsafeBytes { try transaction.put(database, key: $0, value: $0) }
        throw Refused()
      }
    }
    #expect(try environment.read { try $0.statistics(database).entries } == 0)
  }

  @Test(arguments: [0, 512]) func keysOfImpossibleLengthAreRefusedByGetAndPut(length: Int) throws {
    let environment = try Environment.open(at: folder.file("a.mdb"), .init(databases: ["main"]))
    let database = try environment.database("main")
    let key = [UInt8](repeating: 1, count: length)
    let getError = #expect(throws: LMDBError.self) {
      try environment.read { transaction in
        try key.withUnsafeBytes { key in _ = try transaction.get(database, key) }
      }
    }
    #expect(getError?.code == .invalidKey)
    let putError = #expect(throws: LMDBError.self) {
      try environment.write { transaction in
        try key.withUnsafeBytes { key in try transaction.put(database, key: key, value: key) }
      }
    }
    #expect(putError?.code == .invalidKey)
  }

  @Test func aPinnedThreadRunsItsWorkInOrder() throws {
    let thread = PinnedThread(name: "test")
    let environment = try Environment.open(at: folder.file("a.mdb"), .init(databases: ["main"]))
    let database = try environment.database("main")
    for value in UInt8(0)..<100 {
      thread.async {
        try? environment.write { transaction in
          try [value].withUnsafeBytes { try transaction.put(database, key: $0, value: $0, .append) }
        }
      }
    }
    let entries = try thread.sync { try environment.read { try $0.statistics(database).entries } }
    #expect(entries == 100)
    thread.stop()
    #expect(thread.async {} == false)
  }
}
