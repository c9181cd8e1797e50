import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct AppendCommandTests {
  private func place(_ folder: TemporaryFolder, partitions: Int = 1) -> String {
    let path = folder.file("log")
    let run = CommandRun("topics", "create", path, "t", "--init", "log", "--partitions", "\(partitions)")
    #expect(run.code == 0, "\(run.errors)")
    return path
  }

  private func values(_ path: String) throws -> [String?] {
    try CommandRun("export", path, "t").objects().map { $0["value"] as? String }
  }

  @Test func everyLineIsARecordAndIsDurable() throws {
    let folder = try TemporaryFolder()
    let path = place(folder)
    let run = CommandRun("append", path, "t", input: Array("one\ntwo\n\nthree".utf8), chunk: 3)
    #expect(run.code == 0 && run.output == "4 records are durable in 't'\n" && run.errors == "")
    #expect(try values(path) == ["one", "two", "", "three"])
    #expect(CommandRun("append", path, "t").output == "0 records are durable in 't'\n")
  }

  @Test func manyLinesTakeManyCommits() throws {
    let folder = try TemporaryFolder()
    let path = place(folder, partitions: 4)
    let lines = (0..<5000).map { "key-\($0 % 97) value \($0)" }
    let run = CommandRun(
      "append", path, "t", "--key-separator", " ", "--batch", "64", "--json",
      input: Array(lines.joined(separator: "\n").utf8), chunk: 1000)
    let object = try #require(try run.objects().first)
    #expect(
      object["durable"] as? Int == 5000 && object["skipped"] as? Int == 0 && object["interrupted"] as? Bool == false)
    #expect((object["partitions"] as? [[String: Int]])?.reduce(0) { $0 + ($1["endOffset"] ?? 0) } == 5000)
    // In order per key.
    var last: [String: Int] = [:]
    for record in try CommandRun("export", path, "t").objects() {
      let key = try #require(record["key"] as? String)
      let number = try #require((record["value"] as? String)?.split(separator: " ").last.flatMap { Int($0) })
      #expect(number > last[key] ?? -1)
      last[key] = number
    }
    #expect(last.count == 97)
  }

  @Test func keysTimesHeadersAndThePartitionComeFromTheOptions() throws {
    let folder = try TemporaryFolder()
    let path = place(folder, partitions: 3)
    let line = #"{"user":{"id":"u1"},"at":"2026-12-01T00:00:00Z"}"#
    let run = CommandRun(
      "append", path, "t", "--input", "json", "--key-field", "user.id", "--timestamp-field", "at", "--header", "a=b",
      "--header", "a=c", "--partition", "2", input: Array(line.utf8))
    #expect(run.code == 0, "\(run.errors)")
    let record = try #require(try CommandRun("export", path, "t").objects().first)
    #expect(record["partition"] as? Int == 2 && record["key"] as? String == "u1" && record["value"] as? String == line)
    #expect(record["timestamp"] as? String == "2026-12-01T00:00:00Z")
    #expect(CommandRun("tail", path, "t").output.contains(#"{"a":"b","a":"c"}"#))
    let beyond = CommandRun("append", path, "t", "--partition", "3")
    #expect(beyond.code == 64 && beyond.errors.contains("has the partitions 0 to 2, not 3"))
  }

  @Test func aBadLineStopsItBehindWhatWasGood() throws {
    let folder = try TemporaryFolder()
    let path = place(folder)
    let input = Array("{\"id\":1}\n{\"id\":2}\noops\n{\"id\":3}\n".utf8)
    let run = CommandRun("append", path, "t", "--input", "json", "--key-field", "id", input: input)
    #expect(run.code == 1 && run.output == "")
    #expect(run.errors.contains("line 3: it is not JSON") && run.errors.contains("2 records before it are durable"))
    #expect(try values(path).count == 2)
  }

  @Test func badLinesCanBeSkipped() throws {
    let folder = try TemporaryFolder()
    let path = place(folder)
    let input = Array("{\"id\":1}\noops\n{\"no\":2}\n{\"id\":3}\n".utf8)
    let run = CommandRun(
      "append", path, "t", "--input", "json", "--key-field", "id", "--on-error", "skip", input: input)
    #expect(run.code == 0 && run.output == "2 records are durable in 't', 2 lines skipped\n")
    #expect(
      run.errors.contains("skipped line 2: it is not JSON") && run.errors.contains("skipped line 3: it has no field"))
    let many = CommandRun(
      "append", path, "t", "--input", "json", "--on-error", "skip",
      input: Array(repeating: UInt8(ascii: "\n"), count: 500))
    #expect(many.errors.split(separator: "\n").count < 110 && many.output.contains("500 lines skipped"))
  }

  @Test func linesBeyondTheTopicsLimitAreBad() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("log")
    #expect(CommandRun("topics", "create", path, "t", "--init", "log", "--max-record-bytes", "10").code == 0)
    for size in [11, 100_000] {
      let input = Array(String(repeating: "x", count: size).utf8)
      let run = CommandRun("append", path, "t", input: input)
      #expect(run.code == 1 && run.errors.contains("line 1: it"), "\(run.errors)")
      #expect(run.errors.contains("0 records before it are durable"))
    }
    #expect(CommandRun("append", path, "t", input: Array("1234567890".utf8)).code == 0)
  }

  @Test func aTopicOfJSONTakesJSONAndOneOfAnotherTypeNothing() async throws {
    struct Nested: Codable, Sendable { var name: String }
    let sample = try await SampleStore()
    let json = try sample.store.topic("json", codec: Codec<Nested>.json, key: { $0.name })
    try await json.append(Nested(name: "first"))
    sample.store.close()
    let run = CommandRun(
      "append", sample.path, "json", "--input", "json", "--key-field", "name", input: Array(#"{"name":"second"}"#.utf8))
    #expect(run.code == 0, "\(run.errors)")
    let text = CommandRun("append", sample.path, "json", input: Array("x".utf8))
    #expect(text.code == 1 && text.errors.contains("append lines of JSON"))
    let typed = CommandRun("append", sample.path, "events", "--input", "json", input: Array("{}".utf8))
    #expect(typed.code == 1 && typed.errors.contains("record(product: String"), "\(typed.errors)")
    // A program reads both.
    let store = try Store.open(at: sample.path)
    let topic = try store.topic("json", codec: Codec<Nested>.json, key: { $0.name })
    var names: [String] = []
    for try await entry in try topic.events() { names.append(entry.event.name) }
    #expect(names == ["first", "second"])
    store.close()
  }

  @Test func anInterruptedRunSaysThatWhatItReadIsDurable() throws {
    let folder = try TemporaryFolder()
    let path = place(folder)
    let run = CommandRun("append", path, "t", "--json", isStopped: { true }, input: Array("a\nb".utf8))
    #expect(run.code == 0 && run.errors == "millrace: interrupted; what was read is durable\n")
    let object = try #require(try run.objects().first)
    #expect(object["durable"] as? Int == 2 && object["interrupted"] as? Bool == true)
    #expect(try values(path) == ["a", "b"])
  }

  @Test func progressIsForPeopleOnly() throws {
    let folder = try TemporaryFolder()
    let path = place(folder)
    let input = Array("a\nb\nc\n".utf8)
    #expect(CommandRun("append", path, "t", isErrorTerminal: true, input: input).errors.contains("appending  1"))
    #expect(!CommandRun("append", path, "t", input: input).errors.contains("appending"))
  }
}
