import CrashSupport
import Foundation
import Glibc
import Testing

/// Errors of the system in the middle of commits: typed, and never at the price of what was acknowledged.
@Suite struct LMDBFailureTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A child with an open, two commits old file in which `failure` then happens; steps count from its start, so the
  /// file is made by another child before.
  private func child(failing failure: Recorder.Failure) throws -> (LMDBShell, path: String) {
    let root = folder.file("root")
    let path = root + "/a.mdb"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let maker = try LMDBShell()
    #expect(maker("open \(path) readWrite") == "ok")
    for _ in 0..<2 { #expect(maker("put before 100") == "ok") }
    #expect(maker("close") == "ok")
    let recorder = Recorder(root: root, journalPath: folder.file("journal"))
    let child = try LMDBShell(environment: try recorder.environment(failing: failure))
    #expect(child("open \(path) readWrite") == "ok")
    return (child, path)
  }

  private func expectWhole(_ path: String, _ key: String, _ size: String) throws {
    let other = try LMDBShell()
    #expect(other("open \(path) readWrite") == "ok")
    #expect(other("get before") == "100")
    #expect(other("get \(key)") == size)
    #expect(other("put next 10") == "ok")
  }

  @Test(arguments: [Recorder.Failure.Step.write, .sync, .syncedWrite])
  func anInputOutputErrorAtCommitPoisonsUntilReopened(step: Recorder.Failure.Step) throws {
    let (child, path) = try child(failing: .init(step, number: 1, errorNumber: EIO))
    #expect(child.errorCode("put second 100") == "io")
    for _ in 0..<2 { #expect(child.errorCode("put third 100") == "poisoned") }
    #expect(child("close") == "ok")
    #expect(child("open \(path) readWrite") == "ok")
    #expect(child("put third 100") == "ok")
    #expect(child("get third") == "100")
    try expectWhole(path, "third", "100")
  }

  @Test(arguments: [Recorder.Failure.Step.write, .sync]) func aFullDiskAtCommitLeavesTheNextOneAChance(
    step: Recorder.Failure.Step
  ) throws {
    let (child, path) = try child(failing: .init(step, number: 1, errorNumber: ENOSPC))
    #expect(child.errorCode("put second 100") == "diskFull")
    #expect(child("get second") == "none")
    #expect(child("put third 100") == "ok")
    try expectWhole(path, "third", "100")
  }

  @Test func aShortWriteIsAFullDiskNotAnUnknownOutcome() throws {
    let (child, path) = try child(failing: .init(.write, number: 1, errorNumber: 0))
    #expect(child.errorCode("put second 100") == "diskFull")
    #expect(child("put third 100") == "ok")
    try expectWhole(path, "second", "none")
  }

  @Test func anUnwritableMetaPageMeansReopeningWhateverTheReason() throws {
    let (child, path) = try child(failing: .init(.syncedWrite, number: 1, errorNumber: ENOSPC))
    #expect(child.errorCode("put first 100") == "diskFull")
    let answer = child("put second 100")
    #expect(answer.hasPrefix("error poisoned"))
    #expect(answer.contains("close and open again"))
    #expect(child("close") == "ok")
    #expect(child("open \(path) readWrite") == "ok")
    #expect(child("put second 100") == "ok")
    try expectWhole(path, "second", "100")
  }

  @Test func aFailingSyncAtCreationIsToldAndTheFileCanBeMadeAgain() throws {
    let root = folder.file("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let recorder = Recorder(root: root, journalPath: folder.file("journal"))
    for number in 1...2 {
      let child = try LMDBShell(
        environment: try recorder.environment(failing: .init(.sync, number: number, errorNumber: EIO)))
      #expect(child.errorCode("open \(root)/\(number).mdb readWrite") == "io")
      #expect(child("open \(root)/\(number).mdb readWrite") == "ok")
      #expect(child("put key 10") == "ok")
    }
  }

  @Test func aFileSizeLimitIsAFullDisk() throws {
    print("a full disk: tested with RLIMIT_FSIZE in a child process")
    let path = folder.file("a.mdb")
    let child = try LMDBShell()
    #expect(child("open \(path) readWrite") == "ok")
    #expect(child("put before 100") == "ok")
    #expect(child("limit \(200 << 10)") == "ok")
    #expect(child.errorCode("put large \(1 << 20)") == "diskFull")
    #expect(child.errorCode("put many 3000 200") == "diskFull")
    #expect(child("get large") == "none")
    #expect(child("put small 100") == "ok")
    #expect(child.errorCode("backup \(folder.file("copy.mdb"))") == nil)
    #expect(child("limit none") == "ok")
    #expect(child("put large \(1 << 20)") == "ok")
    #expect(child("limit \(200 << 10)") == "ok")
    #expect(child.errorCode("backup \(folder.file("second.mdb"))") == "diskFull")
    #expect(!FileManager.default.fileExists(atPath: folder.file("second.mdb")))
    try expectWhole(path, "large", "\(1 << 20)")
  }

  @Test func withoutPermissionOpeningNamesWhatIsMissing() throws {
    let path = folder.file("a.mdb")
    let maker = try LMDBShell()
    #expect(maker("open \(path) readWrite") == "ok")
    #expect(maker("put key 10") == "ok")
    let user = try LMDBShell()
    if getuid() == 0 {
      print("permissions: tested as user 65534")
      #expect(chmod(folder.path, 0o755) == 0)
      #expect(user("user 65534") == "ok")
    } else {
      print("permissions: tested as user \(getuid())")
      #expect(chmod(path, 0o444) == 0 && chmod(path + "-lock", 0o444) == 0)
    }
    #expect(user("open \(path) readWrite").contains("error permissionDenied open failed on \(path):"))
    // Readable, but without a lock file that it may write a reader is not seen by the writer.
    #expect(user("open \(path) readOnly").contains("error permissionDenied open failed on \(path)-lock:"))
    #expect(user("open \(path) sealed") == "ok")
    #expect(user("get key") == "10")
    #expect(user("close") == "ok")
    #expect(chmod(path, 0) == 0)
    #expect(user.errorCode("open \(path) sealed") == "permissionDenied")
    #expect(user.errorCode("open \(folder.path)/new.mdb readWrite") == (getuid() == 0 ? "permissionDenied" : nil))
  }
}
