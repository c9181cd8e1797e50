import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct TailCommandTests {
  @Test func recordsAreShownByTheirSchema() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("tail", sample.path, "events", "--from", "earliest", "--json")
    #expect(run.code == 0)
    let objects = try run.objects()
    #expect(objects.count == 400)
    for partition in 0..<2 {
      let own = objects.filter { $0["partition"] as? Int == partition }
      #expect(own.map { $0["offset"] as? Int } == Array(0..<own.count))
    }
    let first = try #require(objects.first { $0["key"] as? String == "product-00" })
    let value = try #require(first["value"] as? [String: Any])
    #expect(value["product"] as? String == "product-00" && value["kind"] as? String == "created")
    #expect(value["at"] as? String == "2023-11-14T22:13:20Z" && first["timestamp"] as? String == "2023-11-14T22:13:20Z")
  }

  @Test func theBeginningAndTheNumberAreChosen() async throws {
    let sample = try await SampleStore()
    let ends = try sample.topic.log.offsets().map(\.upperBound)
    #expect(CommandRun("tail", sample.path, "events").lines.count == 20)
    #expect(CommandRun("tail", sample.path, "events", "--limit", "3").lines.count == 3)
    #expect(CommandRun("tail", sample.path, "events", "--from", "latest").output == "")
    let one = CommandRun("tail", sample.path, "events", "--partition", "1", "--from", "\(ends[1] - 2)")
    #expect(one.lines.map { $0.prefix { $0 != " " } } == ["1/\(ends[1] - 2)", "1/\(ends[1] - 1)"])
    #expect(CommandRun("tail", sample.path, "events", "--from", "999999").output == "")
    let beyond = CommandRun("tail", sample.path, "events", "--partition", "1", "--from", "999999")
    #expect(beyond.code == 64 && beyond.errors.contains("the next will be \(ends[1])"))
    let partition = CommandRun("tail", sample.path, "events", "--partition", "2")
    #expect(partition.code == 64 && partition.errors.contains("has the partitions 0 to 1, not 2"))
    let topic = CommandRun("tail", sample.path, "event")
    #expect(topic.code == 1 && topic.errors.contains("has no topic 'event' (did you mean 'events'?)"))
  }

  @Test func rawBytesAreTextOrBase16() async throws {
    let sample = try await SampleStore()
    let run = CommandRun("tail", sample.path, "raw")
    #expect(
      run.lines == ["0/0  2023-11-14T22:13:20Z  k  plain text", "0/1  2023-11-14T22:13:20Z  -  0x00ff01"])
    let objects = try CommandRun("tail", sample.path, "raw", "--json").objects()
    #expect(objects[0]["value"] as? String == "plain text")
    #expect((objects[1]["value"] as? [String: String]) == ["hex": "00ff01"])
    #expect(objects[1]["key"] is NSNull)
  }

  @Test func followingSeesWhatComesAndEndsWhenTold() async throws {
    let sample = try await SampleStore()
    var rounds = 0
    let more = Array(SampleStore.events.prefix(3))
    let topic = sample.topic
    let run = CommandRun("tail", sample.path, "events", "--from", "latest", "--follow") {
      rounds += 1
      if rounds == 1 { _ = try? topic.appendBlocking(contentsOf: more) }
      return rounds > 1
    }
    #expect(run.lines.count == 3 && run.code == 0)
    let limited = CommandRun("tail", sample.path, "events", "--from", "earliest", "--follow", "--limit", "5") { false }
    #expect(limited.lines.count == 5)
  }

  @Test func codableAndJSONValuesAreShown() async throws {
    struct Nested: Codable, Sendable {
      var name: String
      var tags: [String]
      var inner: [String: Double]
      var none: Int?
    }
    let sample = try await SampleStore()
    let value = Nested(name: "n", tags: ["a", "b"], inner: ["x": 1.5], none: nil)
    let codable = try sample.store.topic("codable", codec: Codec<Nested>.codable, key: { $0.name })
    try await codable.append(value)
    let json = try sample.store.topic("json", codec: Codec<Nested>.json, key: { $0.name })
    try await json.append(value)
    for topic in ["codable", "json"] {
      let object = try #require(try CommandRun("tail", sample.path, topic, "--json").objects().first)
      let shown = try #require(object["value"] as? [String: Any])
      #expect(shown["name"] as? String == "n" && shown["tags"] as? [String] == ["a", "b"])
      #expect((shown["inner"] as? [String: Double]) == ["x": 1.5])
    }
  }

  @Test func aValueThatIsNotOfItsSchemaIsShownWithTheReason() async throws {
    let sample = try await SampleStore()
    _ = try await sample.topic.log.append(
      key: [], value: [0, 1, 2], timestamp: Timestamp(microseconds: 0))
    _ = try await sample.topic.log.append(key: [], value: [77], timestamp: Timestamp(microseconds: 0))
    let run = CommandRun("tail", sample.path, "events", "--json")
    #expect(run.code == 0)
    #expect(run.output.contains("\"hex\":\"000102\"") && run.output.contains("it names schema 77"))
  }
}
