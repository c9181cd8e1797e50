import CrashSupport
import LMDB
import Testing

@testable import CrashChild

/// A writer dies when its commit is in the file and not yet in the lock file, which another process keeps in use: the
/// next writer must read what it will build upon.
@Suite struct LMDBDeathTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: [5, 8, 9]) func theNextWriterReadsWhatItBuildsUpon(commits: Int) throws {
    let path = folder.file("data.mdb")
    let program = try ChildProcess.builtExecutable("CrashChild")
    let first = try ChildProcess(program, ["lmdb-commits", path, "1", "1", "2"])
    #expect(first.remainingLines().last == "committed 2")
    let reader = try LMDBShell()
    #expect(reader("open \(path) readOnly") == "ok")
    let journal = try TemporaryFolder()
    let recorder = Recorder(root: folder.path, journalPath: journal.file("journal"))
    let writer = try ChildProcess(
      program, ["lmdb-commits", path, "1", "3", "100"],
      environment: try recorder.environment(
        syncs: true, failing: Recorder.Failure(.syncedWrite, number: commits, errorNumber: Recorder.Failure.death)))
    let acknowledged = writer.remainingLines().count - 1
    #expect(writer.wait() == .killed(signal: 9))

    let environment = try Environment.open(at: path, .init(mapSize: 64 << 20, databases: ["main"]))
    let database = try environment.database("main")
    func last(_ transaction: borrowing some ReadableTransaction & ~Copyable) throws -> Int? {
      try Array("last".utf8).withUnsafeBytes { key in
        try transaction.get(database, key)?.loadUnaligned(as: Int.self)
      }
    }
    let read = try environment.read { try last($0) }
    #expect(read == 2 + acknowledged + 1, "the commit under way is in the file")
    #expect(try environment.write { try last($0) } == read)
    #expect(reader("close") == "ok")
  }
}
