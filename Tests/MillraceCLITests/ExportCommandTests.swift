import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct ExportCommandTests {
  @Test func recordsAreWrittenByTheirSchema() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("export", sample.path, "events")
    let objects = try run.objects()
    #expect(run.code == 0 && run.errors == "" && objects.count == 400)
    let value = try #require(objects[0]["value"] as? [String: Any])
    #expect(Set(value.keys) == ["product", "kind", "amount", "at"])
    // The same as tail shows, and beside the writer.
    #expect(run.output == CommandRun("tail", sample.path, "events", "--from", "earliest", "--json").output)
  }

  @Test func csvHasAColumnForEachField() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("export", sample.path, "events", "--csv", "--partition", "1")
    #expect(run.lines[0] == "partition,offset,timestamp,key,product,kind,amount,at,headers")
    let ends = try sample.topic.log.offsets()
    #expect(run.lines.count == ends[1].count + 1)
    #expect(run.lines[1].hasPrefix("1,0,2023-11-14T22:13:2") && run.lines[1].hasSuffix("Z,"), "\(run.lines[1])")
    let raw = CommandRun("export", sample.path, "raw", "--csv")
    #expect(raw.lines[0] == "partition,offset,timestamp,key,value,headers")
    #expect(raw.lines[2] == #"0,1,2023-11-14T22:13:20Z,,"{""hex"":""00ff01""}","#)
  }

  @Test func bytesAreWrittenAsAsked() async throws {
    let sample = try await SampleStore()
    func value(_ how: String, _ index: Int) throws -> String? {
      try CommandRun("export", sample.path, "raw", "--bytes", how).objects()[index]["value"] as? String
    }
    #expect(try value("hex", 1) == "00ff01" && value("base64", 1) == "AP8B" && value("utf8", 0) == "plain text")
    #expect(try value("base64", 0) == Data("plain text".utf8).base64EncodedString())
    let stored = try CommandRun("export", sample.path, "events", "--raw", "--bytes", "hex", "--to", "1").objects()
    #expect((stored[0]["value"] as? String)?.hasPrefix("00") == true)
  }

  @Test func rangesAreOffsetsOrTimes() async throws {
    let sample = try await SampleStore()
    let ends = try sample.topic.log.offsets().map(\.upperBound)
    func count(_ arguments: String...) throws -> [Int] {
      let run =
        switch arguments.count {
        case 2: CommandRun("export", sample.path, "events", arguments[0], arguments[1])
        case 4: CommandRun("export", sample.path, "events", arguments[0], arguments[1], arguments[2], arguments[3])
        default:
          CommandRun(
            "export", sample.path, "events", arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
            arguments[5])
        }
      let partitions = try run.objects().compactMap { $0["partition"] as? Int }
      return (0..<2).map { partition in partitions.filter { $0 == partition }.count }
    }
    #expect(try count("--from", "10", "--to", "15") == [5, 5])
    #expect(try count("--from", "latest") == [0, 0])
    #expect(try count("--from", "30", "--to", "20") == [0, 0])
    #expect(try count("--from", "\(ends[0] - 3)", "--partition", "0") == [3, 0])
    #expect(try count("--partition", "0,1", "--to", "1") == [1, 1])
    // Events are one millisecond apart, from 22:13:20 on.
    #expect(try count("--from", "2023-11-14T22:13:20.100Z", "--to", "2023-11-14T22:13:20.300Z").reduce(0, +) == 200)
    #expect(try count("--from", "2030-01-01") == [0, 0])
    #expect(try count("--from", "2000-01-01").reduce(0, +) == 400)
    let beyond = CommandRun("export", sample.path, "events", "--partition", "2")
    #expect(beyond.code == 64 && beyond.errors.contains("not 2"))
    let offset = CommandRun("export", sample.path, "events", "--partition", "1", "--from", "9999")
    #expect(offset.code == 64 && offset.errors.contains("the next will be \(ends[1])"))
    #expect(CommandRun("export", sample.path, "evnts").errors.contains("did you mean 'events'?"))
  }

  @Test func tailTakesTimes() async throws {
    let sample = try await SampleStore()
    #expect(CommandRun("tail", sample.path, "events", "--from", "2023-11-14T22:13:20.395Z").lines.count == 5)
  }

  @Test func whatIsDamagedIsNamedAndTheRestWritten() async throws {
    let sample = try await SampleStore()
    let segment = try #require(try sample.store.log.topic("raw").describe().segments.first).path
    sample.store.close()
    try Damage.flip(Array("plain text".utf8), in: segment)
    let run = CommandRun("export", sample.path, "raw")
    #expect(run.code == 1 && run.lines.count == 1 && run.errors.contains("skipped topic raw"), "\(run.errors)")
  }

  @Test func aReaderThatWentAwayEndsIt() async throws {
    let sample = try await SampleStore()
    #expect(CommandRun("export", sample.path, "events", output: 0).code == 0)
  }

  @Test func progressIsForPeopleOnly() async throws {
    let sample = try await SampleStore()
    #expect(CommandRun("export", sample.path, "events", isErrorTerminal: true).errors.contains("exporting  400 of 400"))
  }

  @Test(
    arguments: [
      ([], ""), ([0], "AA=="), ([255, 254], "//4="), ([1, 2, 3], "AQID"), ([1, 2, 3, 4], "AQIDBA=="),
    ] as [([UInt8], String)])
  func base64(bytes: [UInt8], text: String) { #expect(Base64Text.of(bytes) == text) }
}
