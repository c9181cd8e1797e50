import CrashSupport
import Foundation
import Glibc
import LMDB
import Testing

/// One file in several processes: some are killed, some stopped.
@Suite struct LMDBProcessTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }
  private var path: String { folder.file("a.mdb") }

  private func open(_ options: Environment.Options = .init()) throws -> Environment {
    var options = options
    options.databases = ["main"]
    options.mapSize = min(options.mapSize, 64 << 20)
    return try Environment.open(at: path, options)
  }

  private func size(_ environment: Environment, _ key: String) throws -> Int? {
    let database = try environment.database("main")
    return try environment.read { transaction in
      try Array(key.utf8).withUnsafeBytes { try transaction.get(database, $0)?.count }
    }
  }

  private func put(_ environment: Environment, _ key: String, _ size: Int = 10) throws {
    let database = try environment.database("main")
    try environment.write { transaction in
      try Array(key.utf8).withUnsafeBytes { key in
        try [UInt8](repeating: 1, count: size).withUnsafeBytes { try transaction.put(database, key: key, value: $0) }
      }
    }
  }

  @Test func killingAReaderAndAWriterFreesTheirSlotAndTheirLock() throws {
    let environment = try open()
    try put(environment, "kept")
    let reader = try LMDBShell()
    #expect(reader("open \(path) readOnly") == "ok")
    #expect(reader("begin") == "ok")
    #expect(reader("get kept") == "10")
    let writer = try LMDBShell()
    #expect(writer("open \(path) readWrite") == "ok")
    #expect(writer("write-held uncommitted") == "writing")
    #expect(environment.openReaders().map(\.processID) == [reader.process.processID])

    writer.process.kill()
    #expect(writer.process.wait() == .killed(signal: SIGKILL))
    reader.process.kill()
    #expect(reader.process.wait() == .killed(signal: SIGKILL))
    try put(environment, "next")
    #expect(try size(environment, "uncommitted") == nil)
    #expect(try size(environment, "next") == 10)
    _ = try environment.clearStaleReaders()
    #expect(environment.openReaders().isEmpty)
  }

  @Test func openingFreesTheSlotsOfTheDead() throws {
    let child = try LMDBShell()
    #expect(child("open \(path) readWrite") == "ok")
    #expect(child("put key 10") == "ok")
    #expect(child("begin") == "ok")
    child.process.kill()
    child.process.wait()
    let environment = try open()
    #expect(environment.openReaders().isEmpty)
    #expect(try size(environment, "key") == 10)
  }

  @Test func whenEverySlotIsTakenThoseOfTheDeadAreFreedForTheNextReader() throws {
    let environment = try open(.init(maxReaders: 2))
    let first = try LMDBShell()
    let second = try LMDBShell()
    for child in [first, second] {
      #expect(child("open \(path) readOnly") == "ok")
      #expect(child("begin") == "ok")
    }
    #expect(throws: LMDBError.self) { _ = try environment.beginRead() }
    second.process.kill()
    second.process.wait()
    #expect(try size(environment, "none") == nil)
    #expect(first("get none") == "none")
  }

  @Test func theReaderOfAStoppedProcessIsNamedByItsNumberUntilItIsGone() throws {
    let environment = try open()
    let child = try LMDBShell()
    #expect(child("open \(path) readOnly") == "ok")
    #expect(child("begin") == "ok")
    child.process.send(signal: SIGSTOP)
    for number in 0..<5 { try put(environment, "key-\(number)") }
    let pinned = try #require(environment.openReaders().first)
    #expect(pinned.processID == child.process.processID)
    #expect(pinned.transactionID < environment.lastTransactionID)
    // A stopped process is alive: its slot is not stale.
    #expect(try environment.clearStaleReaders() == 0)
    child.process.send(signal: SIGCONT)
    #expect(child("get key-4") == "none")
    #expect(child("end") == "ok")
    child.process.kill()
    child.process.wait()
    try environment.clearStaleReaders()
    #expect(environment.openReaders().isEmpty)
  }

  @Test func aReaderElsewhereSeesWholeCommitsAndNewOnesOnceRenewed() throws {
    let environment = try open()
    let child = try LMDBShell()
    #expect(child("open \(path) readOnly") == "ok")
    #expect(child("begin") == "ok")
    try put(environment, "key")
    #expect(child("get key") == "none")
    #expect(child("renew") == "ok")
    #expect(child("get key") == "10")
    #expect(child("end") == "ok")
    #expect(child("id") == String(environment.lastTransactionID))
    #expect(child.errorCode("put key 5") == "openedReadOnly")
  }

  @Test func thePolledNumberNeverRunsAheadOfWhatAReaderSees() throws {
    let environment = try open()
    let child = try LMDBShell()
    #expect(child("open \(path) readWrite") == "ok")
    let commits = 100
    for _ in 0..<commits { child.process.send("put key 10") }
    let last = environment.lastTransactionID + commits
    var polled = 0
    repeat {
      polled = environment.lastTransactionID
      let seen = try environment.read { $0.id }
      #expect(seen >= polled)
    } while polled < last
    for _ in 0..<commits { #expect(child.process.readLine() == "ok") }
  }

  @Test func anotherProcessGrowingTheFileBeyondThisMapIsFollowed() throws {
    let environment = try open(.init(mapSize: 1 << 20))
    try put(environment, "small")
    let child = try LMDBShell()
    #expect(child("open \(path) readWrite \(32 << 20)") == "ok")
    #expect(child("put large \(4 << 20)") == "ok")
    #expect(try size(environment, "large") == 4 << 20)
    try put(environment, "after", 2 << 20)
    #expect(child("get after") == "\(2 << 20)")
  }

  @Test func aMapIsNotMovedUnderAnOpenSnapshot() throws {
    let environment = try open(.init(mapSize: 1 << 20))
    try put(environment, "small")
    let child = try LMDBShell()
    #expect(child("open \(path) readWrite \(32 << 20)") == "ok")
    do {
      let database = try environment.database("main")
      let snapshot = try environment.beginRead()
      #expect(child("put large \(4 << 20)") == "ok")
      let error = #expect(throws: LMDBError.self) { try size(environment, "large") }
      #expect(error?.code == .mapResized)
      #expect(error?.isRetriable == true)
      #expect(throws: LMDBError.self) { try put(environment, "more") }
      let value = try Array("small".utf8).withUnsafeBytes { try snapshot.get(database, $0)?.count }
      #expect(value == 10)
    }
    #expect(try size(environment, "large") == 4 << 20)
    try put(environment, "more")
  }

  @Test func aSnapshotRenewedOverAGrownFileFollowsIt() throws {
    let environment = try open(.init(mapSize: 1 << 20))
    try put(environment, "small")
    let database = try environment.database("main")
    let child = try LMDBShell()
    #expect(child("open \(path) readWrite \(32 << 20)") == "ok")
    var snapshot = try environment.beginRead()
    #expect(child("put large \(4 << 20)") == "ok")
    try snapshot.renew()
    let value = try Array("large".utf8).withUnsafeBytes { try snapshot.get(database, $0)?.count }
    #expect(value == 4 << 20)
  }

  @Test func aHotCopyOpensWhileAnotherProcessWrites() throws {
    let environment = try open()
    let child = try LMDBShell()
    #expect(child("open \(path) readWrite") == "ok")
    child.process.send("put key 3000 200")
    for number in 0..<5 { try environment.backup(to: folder.file("copy\(number).mdb")) }
    #expect(child.process.readLine() == "ok")
    for number in 0..<5 {
      let copy = try Environment.open(at: folder.file("copy\(number).mdb"), .init(databases: ["main"]))
      let database = try copy.database("main")
      #expect([0, 200].contains(try copy.read { try $0.statistics(database).entries }))
    }
  }
}
