import Millrace
import Testing

@testable import MillraceCLI

@Suite struct LineReaderTests {
  private func lines(_ text: String, chunk: Int, limit: Int = 100) throws -> [String] {
    var rest = Array(text.utf8)[...]
    var reader = LineReader(maximumBytes: limit) {
      defer { rest = rest.dropFirst(chunk) }
      return Array(rest.prefix(chunk))
    }
    var lines: [String] = []
    while true {
      do {
        guard let line = try reader.next() else { return lines }
        lines.append(String(decoding: line, as: UTF8.self))
      } catch is LineReader.TooLong {
        lines.append("too long")
      }
    }
  }

  @Test(arguments: [
    ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]),
    ("\n\na\n", ["", "", "a"]), ("a\rb\n", ["a\rb"]), ("one\ntwo\nthree\n", ["one", "two", "three"]),
  ]) func linesAreTheSameHoweverTheyCome(text: String, expected: [String]) throws {
    for chunk in 1...16 { #expect(try lines(text, chunk: chunk) == expected) }
  }

  @Test func aLineThatIsTooLongIsPassedOver() throws {
    for chunk in 1...40 {
      #expect(
        try lines("ok\n12345678901\n1234567890\nend", chunk: chunk, limit: 10) == [
          "ok", "too long", "1234567890", "end",
        ])
      #expect(try lines("1234567890\r\n12345678901", chunk: chunk, limit: 10) == ["1234567890", "too long"])
    }
  }

  @Test func itTellsWhetherTheNextLineMustBeWaitedFor() throws {
    var chunks = ["a\nb\nc", "d\n"]
    var reader = LineReader(maximumBytes: 100) { chunks.isEmpty ? [] : Array(chunks.removeFirst().utf8) }
    #expect(reader.mustRead)
    _ = try reader.next()
    #expect(!reader.mustRead)
    _ = try reader.next()
    #expect(reader.mustRead)
    #expect(try reader.next() == Array("cd".utf8))
    #expect(try reader.next() == nil)
    #expect(!reader.mustRead)
  }
}

@Suite struct LineRecordsTests {
  private static let now = Timestamp(microseconds: 5)

  private func record(_ line: String, _ change: (inout AppendOptions) -> Void) throws -> NewRecord {
    var options = AppendOptions()
    change(&options)
    return try LineRecords(options).record(Array(line.utf8), now: Self.now)
  }

  @Test func aLineOfTextIsAValue() throws {
    let record = try record("a line") { $0.headers = [.init(name: "n", value: "v")] }
    #expect(
      record == NewRecord(key: nil, value: Array("a line".utf8), timestamp: Self.now, headers: [LogHeader("n", [118])]))
  }

  @Test(arguments: [
    ("k\tv", "\t", "k", "v"), ("k::v::w", "::", "k", "v::w"), (":v", ":", "", "v"), ("k:", ":", "k", ""),
    ("a:b", "a", "", ":b"),
  ]) func theKeyStandsBeforeTheSeparator(line: String, separator: String, key: String, value: String) throws {
    let record = try record(line) { $0.key = .before(separator) }
    #expect(record.key == Array(key.utf8) && record.value == Array(value.utf8))
  }

  @Test(arguments: [
    (#"{"id":"p\u00e9\"1"}"#, "id", "pé\"1"), (#"{"a":{"b":[7,8]}}"#, "a.b.1", "8"), (#"{"id":-1.50}"#, "id", "-1.50"),
    (#"{"id":true}"#, "id", "true"), (#"{"id":""}"#, "id", ""),
  ]) func theKeyIsAFieldOfTheJSON(line: String, path: String, key: String) throws {
    let record = try record(line) {
      $0.input = .json
      $0.key = .field(path.split(separator: ".").map(String.init))
    }
    #expect(record.key == Array(key.utf8) && record.value == Array(line.utf8))
  }

  @Test func anIntegerKeyIsThatOfATypedTopic() throws {
    for (text, number) in [("7", Int64(7)), ("-1", -1), ("\"9223372036854775807\"", .max)] {
      let record = try record("{\"id\":\(text)}") {
        $0.input = .json
        $0.key = .field(["id"])
        $0.keyType = .integer
      }
      var expected = ByteBuffer(capacity: 8)
      number.encodeKey(into: &expected)
      #expect(record.key == expected.array)
    }
  }

  @Test(arguments: [
    (#"{"at":"2026-12-01T09:30:00.5Z"}"#, AppendOptions.TimeUnit.microseconds, 1_796_117_400_500_000),
    (#"{"at":1700000000000000}"#, .microseconds, 1_700_000_000_000_000), (#"{"at":1700}"#, .milliseconds, 1_700_000),
    (#"{"at":17}"#, .seconds, 17_000_000), (#"{"at":17.25}"#, .seconds, 17_250_000),
    (#"{"at":"-3"}"#, .seconds, -3_000_000),
  ]) func theTimeIsAFieldOfTheJSON(line: String, unit: AppendOptions.TimeUnit, expected: Int64) throws {
    let record = try record(line) {
      $0.input = .json
      $0.timestampField = ["at"]
      $0.timestampUnit = unit
    }
    #expect(record.timestamp.microseconds == expected)
  }

  @Test(arguments: [
    (#"{"at":1}"#, "it has no field 'id'"), (#"{"id":null,"at":1}"#, "the field 'id' is null"),
    (#"{"id":[],"at":1}"#, "the field 'id' is a list or an object"), (#"{"id":1,"at":"noon"}"#, "is no time: 'noon'"),
    (#"{"id":1,"at":1.5}"#, "is no time: '1.5'"), (#"{"id":1,"at":true}"#, "is no time"),
    (#"{"id":1,"at":9223372036854775807}"#, nil), ("{\"id\":1", "it is not JSON: the JSON ends early at byte 8"),
  ]) func aBadLineSaysWhy(line: String, expected: String?) throws {
    var options = AppendOptions()
    options.input = .json
    options.key = .field(["id"])
    options.timestampField = ["at"]
    let records = LineRecords(options)
    guard let expected else {
      _ = try records.record(Array(line.utf8), now: Self.now)
      return
    }
    let error = #expect(throws: LineRecords.BadLine.self) { try records.record(Array(line.utf8), now: Self.now) }
    #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
  }

  @Test func otherBadLinesSayWhy() {
    func reason(_ line: [UInt8], _ change: (inout AppendOptions) -> Void) -> String? {
      var options = AppendOptions()
      change(&options)
      let records = LineRecords(options)
      return #expect(throws: LineRecords.BadLine.self) { try records.record(line, now: Self.now) }?.description
    }
    #expect(reason(Array("ab".utf8)) { $0.key = .before("\t") } == #"the separator '\t' is not in it"#)
    #expect(reason([0x22, 0xFF, 0x22]) { $0.input = .json } == "it is not UTF-8")
    let number = reason(Array("1.5 x".utf8)) {
      $0.key = .before(" ")
      $0.keyType = .integer
    }
    #expect(number == "the key '1.5' is no integer of 64 bits")
    let seconds = reason(Array(#"{"at":9223372036854775807}"#.utf8)) {
      $0.input = .json
      $0.timestampField = ["at"]
      $0.timestampUnit = .seconds
    }
    #expect(seconds?.contains("is no time") == true)
  }
}
