import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct TopicsCommandTests {
  @Test(arguments: ["store", "log"])
  func aTopicIsCreatedShownChangedAndDeleted(kind: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("place")
    let missing = CommandRun("topics", "create", path, "t")
    #expect(missing.code == 1 && missing.errors.contains("add '--init store' or '--init log'"), "\(missing.errors)")
    #expect(!FileManager.default.fileExists(atPath: path))
    let created = CommandRun(
      "topics", "create", path, "t", "--init", kind, "--partitions", "3", "--retention-age", "7d", "--compression",
      "zstd:5", "--json")
    #expect(created.code == 0 && created.errors == "", "\(created.errors)")
    let settings = try #require(try created.objects().first?["settings"] as? [String: Any])
    #expect(settings["partitions"] as? Int == 3 && settings["compression"] as? String == "zstd:5")
    #expect(settings["retention-age"] as? String == "7d" && settings["retention-bytes"] is NSNull)
    let again = CommandRun("topics", "create", path, "t")
    #expect(again.code == 1 && again.errors.contains("there is such a topic already"))
    #expect(CommandRun("topics", "create", path, "u", "--compaction", "on").code == 0)

    let list = CommandRun("topics", "list", path)
    #expect(list.lines.count == 4 && list.output.contains("latest per key"), "\(list.output)")
    #expect(try CommandRun("topics", "list", path, "--json").objects().map { $0["topic"] as? String } == ["t", "u"])
    let description = CommandRun("topics", "describe", path, "t")
    for text in ["Topic t (id 1)", "7d", "zstd:5", "in 1 file", "live"] {
      #expect(description.output.contains(text), "\(description.output)")
    }
    #expect(CommandRun("topics", "set", path, "t", "--retention-age", "forever", "--segment-bytes", "2MiB").code == 0)
    let changed = try #require(try CommandRun("topics", "describe", path, "t", "--json").objects().first)
    let now = try #require(changed["settings"] as? [String: Any])
    #expect(now["retention-age"] is NSNull && now["segment-bytes"] as? Int == 2 << 20)
    #expect((changed["offsets"] as? [[String: Any]])?.count == 3)

    #expect(CommandRun("append", path, "t", input: Array("a\nb\n".utf8)).code == 0)
    let unsure = CommandRun("topics", "delete", path, "t")
    #expect(unsure.code == 64 && unsure.errors.contains("add '--yes'"))
    #expect(unsure.errors.contains("2 records"), "\(unsure.errors)")
    #expect(CommandRun("topics", "delete", path, "t", "--yes").output.hasPrefix("deleted topic 't' with 2 records"))
    #expect(try CommandRun("topics", "list", path, "--json").objects().map { $0["topic"] as? String } == ["u"])
    let gone = CommandRun("topics", "describe", path, "t")
    #expect(gone.code == 1 && gone.errors.contains("has no topic 't'"))
  }

  @Test func anEmptyPlaceHasNoTopics() throws {
    let folder = try TemporaryFolder()
    try Store.open(at: folder.file("s")).close()
    #expect(CommandRun("topics", "list", folder.file("s")).output == "No topics\n")
    let file = folder.file("file")
    try Data("x".utf8).write(to: URL(fileURLWithPath: file))
    for path in [file, folder.file("none"), folder.path] {
      let run = CommandRun("topics", "list", path)
      #expect(run.code == 1 && run.errors.hasPrefix("millrace: \(path)"), "\(run.errors)")
    }
    #expect(CommandRun("topics", "create", folder.path, "t", "--init", "store").code == 1)
  }

  @Test func settingsThatTheLogRefusesAreSaid() throws {
    let folder = try TemporaryFolder()
    for arguments in [("t", "--segment-bytes", "1k"), (".t", "--partitions", "1"), ("t", "--partitions", "70000")] {
      let run = CommandRun("topics", "create", folder.file("l"), arguments.0, "--init", "log", arguments.1, arguments.2)
      #expect(run.code == 1 && run.errors.contains("topic"), "\(run.errors)")
    }
  }

  @Test func whoeverWritesElsewhereIsNamed() async throws {
    let sample = try await SampleStore()
    #expect(CommandRun("topics", "list", sample.path).code == 0)
    for run in [
      CommandRun("topics", "create", sample.path, "t"),
      CommandRun("topics", "set", sample.path, "raw", "--segment-age", "1h"),
      CommandRun("topics", "delete", sample.path, "raw", "--yes"), CommandRun("append", sample.path, "raw"),
    ] {
      #expect(run.code == 1 && run.output == "")
      #expect(run.errors.contains("this process has the store open for writing, and only one process can write"))
    }
    let log = try EventLog.open(at: sample.folder.file("log"))
    let run = CommandRun("topics", "create", sample.folder.file("log"), "t")
    #expect(run.code == 1 && run.errors.contains("another process has the log open for writing"), "\(run.errors)")
    log.close()
  }

  @Test func aTypedTopicShowsItsSchemas() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("topics", "describe", sample.path, "events")
    #expect(run.output.contains("record(product: String, kind: String"), "\(run.output)")
    let inside = CommandRun("topics", "list", sample.path + "/log", "--json")
    #expect(try inside.objects().map { $0["records"] as? Int } == [400, 2])
  }
}
