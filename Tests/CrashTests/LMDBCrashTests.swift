import CrashSupport
import Foundation
import LMDB
import Testing

/// A run of commits, crashed everywhere: every acknowledged commit is there afterwards, and what is there is a prefix
/// of the commits.
@Suite struct LMDBCrashTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// The number of the last transaction in the file at `path`; its contents must be those of the workload up to there.
  private func lastCommit(at path: String, _ workload: CommitWorkload) throws -> Int {
    let environment = try Environment.open(at: path, .init(mapSize: 64 << 20, databases: ["main"]))
    let database = try environment.database("main")
    var last = 0
    var contents: [UInt16: [UInt8]] = [:]
    try environment.read { transaction in
      try transaction.withCursor(database) { cursor in
        while try cursor.next() {
          if cursor.key.count == 2 {
            contents[UInt16(bigEndian: cursor.key.loadUnaligned(as: UInt16.self))] = Array(cursor.value)
          } else {
            last = cursor.value.loadUnaligned(as: Int.self)
          }
        }
      }
    }
    #expect(contents == workload.contents(after: last))
    // The next transaction works, too.
    try environment.write { transaction in
      try [UInt8(1)].withUnsafeBytes { try transaction.put(database, key: $0, value: $0) }
      _ = try [UInt8(1)].withUnsafeBytes { try transaction.delete(database, key: $0) }
    }
    return last
  }

  @Test func aCrashOfTheMachineAtAnySyncKeepsEveryAcknowledgedCommit() throws {
    // Each commit syncs its pages, then writes its meta page through; before them the new file and its folder.
    try crashEverywhere([], lost: 0, syncsPerCommit: 2)
  }

  @Test func withoutTheMetaPagesSyncOneCommitMayBeLostAndTheFileIsWhole() throws {
    try crashEverywhere(["noMetaSync"], lost: 1, syncsPerCommit: 1)
  }

  private func crashEverywhere(_ options: [String], lost: Int, syncsPerCommit: Int) throws {
    let seed = SeededRandom.seed(for: "crash at every sync")
    let workload = CommitWorkload(seed: seed)
    let root = folder.file("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let recorder = Recorder(root: root, journalPath: folder.file("journal"))
    let child = try ChildProcess(
      try ChildProcess.builtExecutable("CrashChild"),
      ["lmdb-commits", root + "/a.mdb", "\(seed)", "1", "25"] + options,
      environment: try recorder.environment())
    let lines = child.remainingLines()
    #expect(child.wait() == .exited(0))
    #expect(lines.last == "committed 25")

    let journal = try Journal(path: recorder.journalPath)
    let images = CrashImages(journal: journal, root: root)
    let positions = journal.syncPositions
    #expect(positions.count >= syncsPerCommit * 25 + 2)
    var random = SeededRandom(seed: seed)
    for position in positions + [journal.records.count] {
      let marks = journal.marks(before: position)
      let acknowledged = marks.count { $0.hasPrefix("committed") }
      for probability in [0, 0.2, 0.7, 1] {
        let image = folder.file("image")
        try images.build(at: position, in: image, keeping: probability, random: &random)
        let path = image + "/a.mdb"
        if marks.contains("opened") {
          #expect(FileManager.default.fileExists(atPath: path))
        }
        let last = try lastCommit(at: path, workload)
        #expect(
          last >= acknowledged - lost && last <= acknowledged + 1,
          "record \(position), keeping \(probability): \(acknowledged) acknowledged, \(last) found")
      }
    }
  }

  @Test func aKilledWriterLosesNothingAcknowledged() throws {
    let seed = SeededRandom.seed(for: "kill the writer")
    let workload = CommitWorkload(seed: seed)
    var random = SeededRandom(seed: seed)
    let path = folder.file("a.mdb")
    var last = 0
    for _ in 0..<20 {
      let child = try ChildProcess(
        try ChildProcess.builtExecutable("CrashChild"), ["lmdb-commits", path, "\(seed)", "\(last + 1)", "1000000"])
      #expect(child.readLine() == "opened")
      var acknowledged = last
      for _ in 0..<Int.random(in: 0..<10, using: &random) {
        let line = try #require(child.readLine())
        acknowledged = try #require(Int(line.split(separator: " ")[1]))
      }
      for _ in 0..<Int.random(in: 0..<3000, using: &random) { sched_yield() }
      child.kill()
      for line in child.remainingLines() where line.hasPrefix("committed") {
        acknowledged = try #require(Int(line.split(separator: " ")[1]))
      }
      #expect(child.wait() == .killed(signal: SIGKILL))
      let found = try lastCommit(at: path, workload)
      #expect(found >= acknowledged && found <= acknowledged + 1)
      last = found
    }
  }
}
