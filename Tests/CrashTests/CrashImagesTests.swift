import CrashSupport
import Foundation
import Testing

/// The model of a crash, on runs small enough to be judged by eye.
@Suite struct CrashImagesTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Records `steps` of `CrashChild files`; paths are below a root, which is where the child works.
  private func record(_ steps: [String], base: Bool = false) throws -> CrashImages {
    let root = folder.file("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let recorder = Recorder(root: root, journalPath: folder.file("journal"))
    let child = try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"), ["files"], environment: try recorder.environment())
    for step in steps {
      let words = step.split(separator: " ")
      let absolute = words.enumerated().map { index, word in
        index > 0 && word.allSatisfy { !$0.isNumber } ? root + "/" + word : String(word)
      }
      #expect(child.ask(absolute.joined(separator: " ")) == "ok", "\(step)")
    }
    child.kill()
    child.wait()
    return CrashImages(
      journal: try Journal(path: recorder.journalPath), root: root, base: base ? folder.file("base") : nil)
  }

  /// The distinct states that crashes at `position` leave: file names with their bytes, one character for each 1,024.
  private func states(
    _ images: CrashImages, at position: Int? = nil, keeping probability: Double = 0.5, draws: Int = 100
  ) throws -> Set<String> {
    let seed = SeededRandom.seed(for: "crash images")
    var random = SeededRandom(seed: seed)
    var states: Set<String> = []
    for _ in 0..<draws {
      let image = folder.file("image")
      try images.build(
        at: position ?? images.journal.records.count, in: image, keeping: probability, random: &random)
      let names = try FileManager.default.subpathsOfDirectory(atPath: image).sorted()
      let state = names.map { name in
        let contents = FileManager.default.contents(atPath: image + "/" + name) ?? Data()
        return name + ":"
          + String(stride(from: 0, to: contents.count, by: 1024).map { Character(UnicodeScalar(contents[$0])) })
      }
      states.insert(state.joined(separator: " "))
    }
    return states
  }

  @Test func whatWasSyncedIsThereAndTheRestMayBe() throws {
    let images = try record(["write f 0 1024 65", "sync f", "sync-folder .", "write f 0 1024 66"])
    #expect(try states(images, keeping: 0) == ["f:A"])
    #expect(try states(images, keeping: 1) == ["f:B"])
    #expect(try states(images) == ["f:A", "f:B"])
  }

  @Test func sectorsOfOneWriteTearApartAndHolesReadAsZero() throws {
    let images = try record([
      "write f 0 8192 65", "sync f", "sync-folder .", "write f 0 8192 66", "write f 8192 4096 67",
    ])
    var expected: Set<String> = []
    for first in ["AAAA", "BBBB"] {
      for second in ["AAAA", "BBBB"] { expected.formUnion(["f:" + first + second, "f:" + first + second + "CCCC"]) }
    }
    #expect(try states(images) == expected)
  }

  @Test func aSectorHoldsAnyOfItsStatesNeverAMixture() throws {
    let images = try record([
      "write f 0 4096 65", "sync f", "sync-folder .", "write f 0 1024 66", "write f 1024 1024 67", "write f 0 1024 68",
    ])
    #expect(try states(images) == ["f:AAAA", "f:BAAA", "f:BCAA", "f:DCAA"])
  }

  @Test func aSyncCoversWhatCameBeforeItOnly() throws {
    let images = try record(["write f 0 1024 65", "sync f", "sync-folder .", "write f 0 1024 66", "sync f"])
    let last = try #require(images.journal.syncPositions.last)
    #expect(try states(images, at: last) == ["f:A", "f:B"])
    #expect(try states(images) == ["f:B"])
  }

  @Test func aNameIsDurableOnceItsFolderIsSynced() throws {
    #expect(try states(try record(["write f 0 1024 65", "sync f"])) == ["", "f:A"])
  }

  @Test func namesChangeInOrder() throws {
    let images = try record([
      "write f 0 1024 65", "sync f", "sync-folder .", "write g 0 1024 66", "sync g", "rename g f", "write h 0 1024 67",
      "sync h",
    ])
    #expect(try states(images) == ["f:A", "f:A g:B", "f:B", "f:B h:C"])
  }

  @Test func aRemovedFileMayComeBackUntilItsFolderIsSynced() throws {
    let images = try record(["write f 0 1024 65", "sync f", "sync-folder .", "unlink f", "write f 0 1024 66", "sync f"])
    #expect(try states(images) == ["f:A", "", "f:B"])
  }

  @Test func foldersAreMadeAndFilledInOrder() throws {
    let images = try record(["mkdir d", "write d/f 0 1024 65", "sync d/f", "sync-folder d"])
    #expect(try states(images) == ["d: d/f:A"], "a sync of the inner folder carries what came before")
    let bare = try record(["mkdir e"])
    #expect(try states(bare, draws: 50).isSubset(of: ["d: d/f:A", "d: d/f:A e:", "", "d:", "e:"]))
  }

  @Test func truncationIsAChangeLikeAnother() throws {
    let images = try record(["write f 0 8192 65", "sync f", "sync-folder .", "truncate f 4096"])
    #expect(try states(images) == ["f:AAAAAAAA", "f:AAAA"])
  }

  @Test func aJournalCutAnywhereIsReadUpToThere() throws {
    let images = try record(["write f 0 1024 65", "sync f", "write f 0 10 66"])
    let whole = try Data(contentsOf: URL(fileURLWithPath: folder.file("journal")))
    var counts: [Int] = []
    for length in 0...whole.count {
      try whole.prefix(length).write(to: URL(fileURLWithPath: folder.file("cut")))
      counts.append(try Journal(path: folder.file("cut")).records.count)
    }
    #expect(counts == counts.sorted())
    #expect(counts.first == 0 && counts.last == images.journal.records.count)
    #expect(images.journal.marks(before: images.journal.records.count) == ["ok", "ok", "ok"])
  }
}
