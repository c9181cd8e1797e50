import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct InspectCommandTests {
  @Test func aStoreIsDescribedBesideItsWriter() async throws {
    let sample = try await SampleStore()
    try await sample.topic.append(contentsOf: Array(SampleStore.events.prefix(7)))
    let run = CommandRun("inspect", sample.path)
    #expect(run.code == 0 && run.errors == "")
    for text in [
      "Store \(sample.path)", "of at most 64 GiB", "events", "all 2", "407", "materialize", "stopped", "products",
      "campaign", "Int32?", "primary", "ago",
    ] {
      #expect(run.output.contains(text), "\(text) is missing in:\n\(run.output)")
    }
    let job = try #require(run.lines.first { $0.contains("materialize") })
    #expect(job.split(separator: " ").last == "7")
    let view = try #require(run.lines.first { $0.hasPrefix("  products  20 ") })
    #expect(view.contains("(campaign)"))
    // Nothing is wider than the terminal, except where cut columns would say nothing.
    for line in CommandRun("inspect", sample.path, width: 100).lines.dropFirst() { #expect(line.count <= 100) }
  }

  @Test func jsonHasTheSame() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("inspect", "--json", sample.path)
    let object = try #require(try run.objects().first)
    #expect(run.lines.count == 1 && run.code == 0)
    let topics = try #require(object["topics"] as? [[String: Any]])
    #expect(topics.map { $0["name"] as? String } == ["events", "raw"])
    #expect(topics.map { $0["records"] as? Int } == [400, 2])
    #expect((topics[0]["schemas"] as? [String])?.first?.hasPrefix("record(product: String, kind: String") == true)
    let jobs = try #require(object["jobs"] as? [[String: Any]])
    let sources = try #require(jobs[0]["sources"] as? [[String: Any]])
    #expect(sources[0]["lag"] as? Int == 0)
    #expect((jobs[0]["checkpointAt"] as? String)?.hasPrefix("20") == true)
    let views = try #require(object["views"] as? [[String: Any]])
    #expect(views[0]["rows"] as? Int == 20)
    let columns = try #require(views[0]["columns"] as? [[String: Any]])
    #expect(columns.map { $0["name"] as? String } == ["product", "campaign", "bid", "units", "seen"])
    #expect(columns.map { $0["isKey"] as? Bool } == [true, false, false, false, false])
  }

  @Test func anEmptyStoreSaysSo() throws {
    let folder = try TemporaryFolder()
    try Store.open(at: folder.file("s")).close()
    let run = CommandRun("inspect", folder.file("s"))
    #expect(run.code == 0)
    for text in ["No topics", "No jobs", "No views", "checkpoint  0"] { #expect(run.output.contains(text)) }
  }

  @Test func wrongPathsSayWhatAndWhatToDo() throws {
    let folder = try TemporaryFolder()
    try Data("x".utf8).write(to: URL(fileURLWithPath: folder.file("file")))
    for (path, text) in [
      (folder.file("none"), "there is no store; check the path"), (folder.path, "there is no store; check the path"),
      (folder.file("file"), "this is a file; a store is a folder"),
    ] {
      for command in ["inspect", "verify"] {
        let run = CommandRun(command, path)
        #expect(run.code == 1 && run.output == "")
        #expect(run.errors.hasPrefix("millrace: \(path)") && run.errors.contains(text), "\(run.errors)")
      }
    }
  }

  @Test func aNewerFormatIsRefused() throws {
    let folder = try TemporaryFolder()
    try Store.open(at: folder.file("s")).close()
    try Data("format 99\nkey-groups 128\n".utf8).write(to: URL(fileURLWithPath: folder.file("s/FORMAT")))
    let run = CommandRun("inspect", folder.file("s"))
    #expect(run.code == 1 && run.errors.contains("format 99") && run.errors.contains("use a newer library"))
  }

  @Test(.enabled(if: getuid() != 0, "root may read everything"))
  func withoutPermissionTheErrorNamesTheFile() throws {
    let folder = try TemporaryFolder()
    try Store.open(at: folder.file("s")).close()
    chmod(folder.file("s/FORMAT"), 0)
    defer { chmod(folder.file("s/FORMAT"), 0o600) }
    let run = CommandRun("inspect", folder.file("s"))
    #expect(run.code == 1 && run.errors.contains("FORMAT") && run.errors.contains("give this user"))
  }

  @Test func wrongCommandLinesEndWith64() {
    let run = CommandRun("inspekt", "x")
    #expect(run.code == 64 && run.output == "" && run.errors.contains("did you mean 'inspect'?"))
    #expect(CommandRun("--help").code == 0)
    #expect(CommandRun("--version").output == "millrace \(MillraceCommand.version)\n")
  }
}
