import Foundation
import Millrace
import Testing

/// Folders that are no store, or none that may be opened.
@Suite struct OpeningTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open(_ path: String, _ access: Store.Access = .readWrite) async -> StoreError? {
    await failure(StoreError.self) { try Store.open(at: path, Store.Options(access: access)) }
  }

  private func format(_ text: String) async throws -> StoreError? {
    let path = folder.file("store")
    _ = try Shop(path)
    try text.write(toFile: path + "/FORMAT", atomically: true, encoding: .utf8)
    let before = try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
    let error = await open(path)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: path).sorted() == before)
    #expect(try String(contentsOfFile: path + "/FORMAT", encoding: .utf8) == text)
    return error
  }

  @Test func aStoreOfANewerFormatSaysWhichAndIsLeftAlone() async throws {
    let error = try await format("format 7\nkey-groups 128\n")
    #expect(error?.code == .newerFormat)
    #expect(error?.description.contains("format 7") == true)
    #expect(error?.description.contains("use a newer library") == true)
  }

  @Test(arguments: ["", "rubbish", "format x\nkey-groups 128\n", "format 0\nkey-groups 128\n", "format 1\n", "\u{0}"])
  func aDamagedFormatFileIsNamed(text: String) async throws {
    let error = try await format(text)
    #expect(error?.code == .damagedFormat)
    #expect(error?.path.hasSuffix("/FORMAT") == true)
  }

  @Test func anotherNumberOfKeyGroupsIsRefused() async throws {
    #expect(try await format("format 1\nkey-groups 64\n")?.code == .damagedFormat)
  }

  @Test func aFolderOfOtherThingsIsNotTouched() async throws {
    try "mine".write(toFile: folder.file("notes.txt"), atomically: true, encoding: .utf8)
    let error = await open(folder.path)
    #expect(error?.code == .notAStore)
    #expect(error?.description.contains("notes.txt") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes.txt"])
    #expect(await open(folder.file("notes.txt"))?.code == .notAStore)
    #expect(await open(folder.file("missing/store"))?.code == .notFound)
  }

  @Test func readingWhereThereIsNoStoreMakesNone() async throws {
    #expect(await open(folder.file("store"), .readOnly)?.code == .notFound)
    #expect(await open(folder.path, .readOnly)?.code == .notFound)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test func whatACrashDuringCreationLeftIsCompleted() async throws {
    let path = folder.file("store")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try "".write(toFile: path + "/LOCK", atomically: true, encoding: .utf8)
    try "form".write(toFile: path + "/FORMAT.new", atomically: true, encoding: .utf8)
    let shop = try Shop(path)
    try await shop.sales.append(Sale("a", 1))
  }

  @Test func aLostStateFileIsNotTakenForAnEmptyOne() async throws {
    let path = folder.file("store")
    _ = try Shop(path)
    try FileManager.default.removeItem(atPath: path + "/state.mdb")
    let error = await open(path)
    #expect(error?.code == .missingFile)
    #expect(error?.path.hasSuffix("/state.mdb") == true)
    #expect(!FileManager.default.fileExists(atPath: path + "/state.mdb"))
  }

  /// For an ordinary user: root may do everything.
  @Test(.enabled(if: geteuid() != 0, "root is refused nothing"))
  func aFolderWithoutPermissionSaysWhatIsNeeded() async throws {
    let path = folder.file("store")
    _ = try Shop(path)
    for (target, mode) in [(path, 0o000), (folder.path, 0o500)] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: target)
      let error = await open(target == path ? path : folder.file("other"))
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: target)
      #expect(error?.code == .permissionDenied)
      #expect(error?.description.contains("access") == true)
    }
  }

  /// What even root is refused: a folder of a file system that takes no new folders.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self")))
  func aFolderThatCannotBeMadeIsATypedError() async {
    let error = await open("/proc/self/store")
    #expect([StoreError.Code.notFound, .permissionDenied].contains(error?.code))
    #expect(error?.path == "/proc/self/store")
  }
}
