import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct GroupsCommandTests {
  private func parse(_ line: String) throws -> Invocation {
    try Invocation(arguments: line.split(separator: " ").map(String.init))
  }

  @Test func groupCommandsAreRead() throws {
    #expect(try parse("groups list a") == .groups(place: "a", .list, .table))
    #expect(try parse("groups describe a g --json") == .groups(place: "a", .describe("g"), .json))
    #expect(try parse("groups delete a g --yes") == .groups(place: "a", .delete("g", isSure: true), .table))
    #expect(
      try parse("groups reset a g t --to 7") == .groups(place: "a", .reset("g", topic: "t", to: .offset(7)), .table))
    #expect(
      try parse("tail a t --group g --follow")
        == .tail(place: "a", topic: "t", TailOptions(isFollowing: true, group: "g"), .table))
  }

  @Test(arguments: [
    ("groups", "'groups' needs to know what to do"), ("groups lst a", "did you mean 'list'?"),
    ("groups reset a g t", "'--to' must say where"), ("groups reset a g", "missing TOPIC"),
    ("groups reset a g t --to soon", "an offset or a time"),
    ("tail a t --group g --partition 1", "exclude each other"),
  ]) func aWrongLineSaysWhatIsWrong(line: String, expected: String) {
    let text = #expect(throws: UsageError.self) { try parse(line) }?.description
    #expect(text?.contains(expected) == true, "\(text ?? "")")
  }

  /// Ten records in one partition, in a log by itself.
  private func place(_ folder: TemporaryFolder) -> String {
    let path = folder.file("log")
    #expect(CommandRun("topics", "create", path, "t", "--init", "log").code == 0)
    let lines = (0..<10).map { "line \($0)\n" }.joined()
    #expect(CommandRun("append", path, "t", input: Array(lines.utf8)).code == 0)
    return path
  }

  @Test func aGroupGoesOnWhereItLeftOff() async throws {
    let folder = try TemporaryFolder()
    let path = place(folder)
    #expect(CommandRun("groups", "list", path).output == "No groups\n")
    func tail(_ limit: Int) async -> [String] {
      let run = await CommandRun.onThread("tail", path, "t", "--group", "g", "--limit", "\(limit)")
      #expect(run.code == 0 && run.errors == "", "\(run.errors)")
      return run.lines.compactMap { $0.split(separator: " ").last.map(String.init) }
    }
    #expect(await tail(3) == ["0", "1", "2"])
    #expect(await tail(4) == ["3", "4", "5", "6"])
    let described = try #require(try CommandRun("groups", "describe", path, "g", "--json").objects().first)
    #expect(described["lag"] as? Int == 3 && described["holder"] is NSNull)
    let topics = try #require(described["topics"] as? [[String: Any]])
    let partitions = try #require(topics[0]["partitions"] as? [[String: Any]])
    #expect(partitions[0]["committed"] as? Int == 7 && partitions[0]["endOffset"] as? Int == 10)
    #expect(CommandRun("groups", "list", path).output.contains("nobody"))
    #expect(CommandRun("groups", "describe", path, "g").output.contains("3 records behind"))

    let reset = CommandRun("groups", "reset", path, "g", "t", "--to", "2")
    #expect(reset.code == 0 && reset.output.contains("8 records behind"), "\(reset.output)\(reset.errors)")
    #expect(await tail(1) == ["2"])
    #expect(CommandRun("groups", "reset", path, "g", "t", "--to", "latest").code == 0)
    #expect(await tail(5) == [])
    let beyond = CommandRun("groups", "reset", path, "g", "t", "--to", "99")
    #expect(beyond.code == 1 && beyond.errors.contains("offset 99"), "\(beyond.errors)")

    let unsure = CommandRun("groups", "delete", path, "g")
    #expect(unsure.code == 64 && unsure.errors.contains("add '--yes'"), "\(unsure.errors)")
    #expect(CommandRun("groups", "delete", path, "g", "--yes").output == "deleted group 'g'\n")
    let gone = CommandRun("groups", "describe", path, "g")
    #expect(gone.code == 1 && gone.errors.contains("has no group 'g'"), "\(gone.errors)")
  }

  @Test func aGroupIsBegunByAReset() async throws {
    let folder = try TemporaryFolder()
    let path = place(folder)
    #expect(CommandRun("groups", "reset", path, "fresh", "t", "--to", "8").code == 0)
    #expect(await CommandRun.onThread("tail", path, "t", "--group", "fresh").lines.count == 2)
    let topic = CommandRun("groups", "reset", path, "fresh", "tt", "--to", "8")
    #expect(topic.code == 1 && topic.errors.contains("did you mean 't'?"), "\(topic.errors)")
    let near = CommandRun("groups", "describe", path, "fresj")
    #expect(near.code == 1 && near.errors.contains("did you mean 'fresh'?"), "\(near.errors)")
  }

  @Test func aGroupWithMembersIsLeftAloneAndItsHolderNamed() async throws {
    let sample = try await SampleStore()
    let subscription = try sample.topic.log.subscribe(group: "held")
    let reset = CommandRun("groups", "reset", sample.path, "held", "events", "--to", "earliest")
    #expect(reset.code == 1 && !reset.errors.isEmpty)
    #expect(CommandRun("groups", "list", sample.path).output.contains("process \(getpid())"))
    let tail = await CommandRun.onThread("tail", sample.path, "events", "--group", "held")
    #expect(tail.code == 1 && tail.output == "")
    await subscription.close()
  }

  @Test func whatAGroupIsShownIsDecoded() async throws {
    let sample = try await SampleStore()
    let run = await CommandRun.onThread("tail", sample.path, "events", "--group", "g", "--json")
    #expect(run.code == 0 && run.lines.count == 400, "\(run.errors)")
    let tail = await CommandRun.onThread("tail", sample.path, "events", "--from", "earliest", "--json")
    #expect(run.output == tail.output)
    let rest = await CommandRun.onThread("tail", sample.path, "events", "--group", "g", "--json")
    #expect(rest.code == 0 && rest.output == "")
  }
}

@Suite struct CompactCommandTests {
  @Test func theLatestRecordOfEachKeyStays() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("log")
    #expect(CommandRun("topics", "create", path, "t", "--init", "log", "--compaction", "on").code == 0)
    let lines = (0..<1000).map { "k\($0 % 10) \($0)\n" }.joined()
    #expect(CommandRun("append", path, "t", "--key-separator", " ", input: Array(lines.utf8)).code == 0)
    let early = await CommandRun.onThread("topics", "compact", path, "t")
    #expect(early.code == 0 && early.output.contains("no file is sealed"), "\(early.output)\(early.errors)")
    let run = await CommandRun.onThread("topics", "compact", path, "t", "--seal", "--json")
    #expect(run.code == 0, "\(run.errors)")
    let result = try #require(try run.objects().first)
    #expect(result["recordsBefore"] as? Int == 1000 && result["recordsAfter"] as? Int == 10)
    let values = try CommandRun("export", path, "t").objects().map { $0["value"] as? String }
    #expect(values == (990..<1000).map { "\($0)" })
    let again = await CommandRun.onThread("topics", "compact", path, "t")
    #expect(again.code == 0, "\(again.errors)")
  }

  @Test func aTopicThatKeepsAllIsNotCompacted() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("log")
    #expect(CommandRun("topics", "create", path, "t", "--init", "log").code == 0)
    let run = await CommandRun.onThread("topics", "compact", path, "t")
    #expect(run.code == 1 && run.errors.contains("set the option compaction"), "\(run.errors)")
  }
}
