import Foundation
import LMDB
import Testing

/// Hot copies, and a full disk.
@Suite struct BackupTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func aCopyTakenWhileInUseOpensWithOneCommitsContents() throws {
    let store = try TestDatabase(folder.file("a.mdb"))
    for number in 0..<50 { try store.put("key \(number)", size: 1000) }
    try store.environment.backup(to: folder.file("copy.mdb"))
    try store.put("later")
    let copy = try TestDatabase(folder.file("copy.mdb"))
    #expect(try copy.size("key 49") == 1000)
    #expect(try copy.size("later") == nil)
    try copy.put("own")
    #expect(try store.size("own") == nil)
  }

  @Test func anExistingTargetIsLeftAlone() throws {
    let store = try TestDatabase(folder.file("a.mdb"))
    let target = folder.file("copy.mdb")
    try "precious".write(toFile: target, atomically: true, encoding: .utf8)
    let error = #expect(throws: LMDBError.self) { try store.environment.backup(to: target) }
    #expect(error?.code == .alreadyExists)
    #expect(error?.path == target)
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "precious")
    #expect(code { try store.environment.backup(to: folder.file("no/copy.mdb")) } == .notFound)
  }

  @Test func aSealedFileIsCopiedToo() throws {
    do { try TestDatabase(folder.file("a.mdb")).put("key") }
    let sealed = try TestDatabase(folder.file("a.mdb"), .init(access: .sealed))
    try sealed.environment.backup(to: folder.file("copy.mdb"))
    #expect(try TestDatabase(folder.file("copy.mdb")).size("key") == 10)
  }

  @Test func aFullDiskFailsTheCopyAndLeavesNoPart() throws {
    let mount = folder.file("small")
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
    guard Mount.memory(256 << 10, at: mount) else {
      print("a full disk under a copy: not tested here, this user may not mount (CrashTests use a file size limit)")
      return
    }
    defer { Mount.remove(mount) }
    let store = try TestDatabase(folder.file("a.mdb"))
    try store.put("large", size: 1 << 20)
    #expect(code { try store.environment.backup(to: mount + "/copy.mdb") } == .diskFull)
    #expect(try FileManager.default.contentsOfDirectory(atPath: mount).isEmpty)
    #expect(try store.size("large") == 1 << 20)
  }

  @Test func aFullDiskFailsTheCommitOnlyAndRoomMadeLetsTheNextOneThrough() throws {
    let mount = folder.file("small")
    try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
    guard Mount.memory(512 << 10, at: mount) else {
      print("a full disk: not tested here, this user may not mount (CrashTests use a file size limit)")
      return
    }
    defer { Mount.remove(mount) }
    print("a full disk: tested on a tmpfs of 512 KB")
    let filler = mount + "/filler"
    try Data(count: 200 << 10).write(to: URL(fileURLWithPath: filler))
    do {
      let store = try TestDatabase(mount + "/a.mdb")
      try store.put("before", size: 1000)
      var stored = 0
      let error = #expect(throws: LMDBError.self) {
        while true {
          try store.put("key \(stored)", size: 20_000)
          stored += 1
        }
      }
      #expect(error?.code == .diskFull)
      #expect(error?.isRetriable == true)
      #expect(stored > 0)
      #expect(try store.size("key \(stored - 1)") == 20_000)
      #expect(try store.size("key \(stored)") == nil)
      try FileManager.default.removeItem(atPath: filler)
      try store.put("key \(stored)", size: 20_000)
      #expect(try store.size("key \(stored)") == 20_000)
    }
    let store = try TestDatabase(mount + "/a.mdb")
    #expect(try store.size("before") == 1000)
  }
}
