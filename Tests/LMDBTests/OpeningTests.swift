import Foundation
import LMDB
import Testing

/// Which files may be opened how, and that one file is one environment.
@Suite struct OpeningTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func aMissingFileIsNotCreatedForAReader() throws {
    for access in [Environment.Access.readOnly, .sealed] {
      #expect(code { _ = try Environment.open(at: folder.file("none.mdb"), .init(access: access)) } == .notFound)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    #expect(code { _ = try Environment.open(at: folder.file("no/such/folder.mdb")) } == .notFound)
  }

  @Test func aFolderIsNoFile() throws {
    #expect(throws: LMDBError.self) { _ = try Environment.open(at: folder.path) }
    #expect(throws: LMDBError.self) { _ = try Environment.open(at: folder.path, .init(access: .readOnly)) }
  }

  @Test func aMissingDatabaseIsToldToAReader() throws {
    let path = folder.file("a.mdb")
    do { try TestDatabase(path).put("key") }
    let reader = try Environment.open(at: path, .init(databases: ["main", "other"], access: .readOnly))
    _ = try reader.database("main")
    #expect(code { _ = try reader.database("other") } == .notFound)
    #expect(code { try reader.write { _ in } } == .openedReadOnly)
    #expect(code { _ = try Environment.open(at: path) } == .openedReadOnly)
  }

  @Test func aReadersHandleOnAWritersEnvironmentStillCannotWrite() throws {
    let store = try TestDatabase(folder.file("a.mdb"))
    let reader = try TestDatabase(folder.file("a.mdb"), .init(access: .readOnly))
    #expect(code { try reader.put("key") } == .openedReadOnly)
    try store.put("key")
    #expect(try reader.size("key") == 10)
  }

  @Test func oneFileUnderSeveralNamesIsOneEnvironment() throws {
    let path = folder.file("a.mdb")
    let store = try TestDatabase(path)
    try FileManager.default.createSymbolicLink(atPath: folder.file("symbolic.mdb"), withDestinationPath: path)
    try FileManager.default.linkItem(atPath: path, toPath: folder.file("hard.mdb"))
    for name in ["symbolic.mdb", "hard.mdb"] {
      do { try TestDatabase(folder.file(name)).put(name) }
      #expect(try store.size(name) == 10)
    }
    // Still locked and alive after the other handles' end.
    try store.put("after")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(files == ["a.mdb", "a.mdb-lock", "hard.mdb", "symbolic.mdb"])
  }

  @Test func aSymbolicLinkOpenedFirstSharesTheLockFileOfTheFileItself() throws {
    let link = folder.file("link.mdb")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("a.mdb"))
    do { try TestDatabase(link).put("key") }
    #expect(FileManager.default.fileExists(atPath: folder.file("a.mdb-lock")))
    #expect(!FileManager.default.fileExists(atPath: link + "-lock"))
  }

  @Test func aFileThatReplacedAnOpenOneIsRefusedUntilThatIsClosed() throws {
    let path = folder.file("a.mdb")
    do { try TestDatabase(folder.file("b.mdb")).put("new") }
    do {
      let store = try TestDatabase(path)
      try store.put("old")
      try FileManager.default.removeItem(atPath: path)
      #expect(code { _ = try TestDatabase(path) } == .badHandle)
      try FileManager.default.copyItem(atPath: folder.file("b.mdb"), toPath: path)
      let error = #expect(throws: LMDBError.self) { _ = try TestDatabase(path) }
      #expect(error?.description.contains("close it first") == true)
      #expect(try store.size("old") == 10)
    }
    #expect(try TestDatabase(path).size("new") == 10)
  }

  @Test func databasesAreOpenedWhileAnotherThreadWrites() throws {
    let path = folder.file("a.mdb")
    let store = try TestDatabase(path)
    let opened = Semaphore()
    try store.environment.write { transaction in
      OSThread.start(name: "opener") {
        // Its database exists already: no need to wait for the writer.
        if (try? TestDatabase(path)) != nil { opened.signal() }
      }
      #expect(opened.wait(milliseconds: 60_000))
      try store.put("key", size: 1, in: transaction)
    }
  }

  @Test func aWriteInsideAWriteIsRefusedInsteadOfWaitingForItself() throws {
    let store = try TestDatabase(folder.file("a.mdb"))
    try store.environment.write { transaction in
      #expect(code { try store.put("inner") } == .badHandle)
      #expect(code { try store.environment.backup(to: folder.file("copy.mdb")) } == .badHandle)
      #expect(
        code { _ = try Environment.open(at: folder.file("a.mdb"), .init(databases: ["another"])) } == .badHandle)
      try store.put("outer", size: 3, in: transaction)
    }
    #expect(try store.size("outer") == 3)
    #expect(try store.size("inner") == nil)
    try store.put("inner")
  }

  @Test func aReadOnlyFileSystemIsRefusedForALiveFileAndFineForASealedOne() throws {
    do { try TestDatabase(folder.file("a.mdb")).put("key") }
    let mount = folder.file("mounted")
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
    guard Mount.bindReadOnly(folder.path, at: mount) else {
      print("a read-only file system: not tested, this user may not mount")
      return
    }
    defer { Mount.remove(mount) }
    let error = #expect(throws: LMDBError.self) {
      _ = try TestDatabase(mount + "/a.mdb", .init(access: .readOnly))
    }
    #expect(error?.code == .readOnlyFileSystem)
    #expect(code { _ = try TestDatabase(mount + "/a.mdb") } == .readOnlyFileSystem)
    #expect(try TestDatabase(mount + "/a.mdb", .init(access: .sealed)).size("key") == 10)
  }
}
