import Testing

@testable import MillraceCLI

@Suite struct AppendInvocationTests {
  private func parse(_ line: String) throws -> Invocation {
    try Invocation(arguments: line.split(separator: " ").map(String.init))
  }

  @Test func whatIsAppendedIsRead() throws {
    #expect(try parse("append a t") == .append(place: "a", topic: "t", AppendOptions(), .table))
    var options = AppendOptions()
    options.input = .json
    options.key = .field(["product", "id"])
    options.keyType = .integer
    options.timestampField = ["at"]
    options.timestampUnit = .milliseconds
    options.headers = [.init(name: "source", value: "web"), .init(name: "x", value: "a=b")]
    options.partition = 2
    options.batch = 100
    options.errorPolicy = .skip
    let line =
      "append a t --input json --key-field product.id --key-type integer --timestamp-field at --timestamp-unit ms "
      + "--header source=web --header=x=a=b --partition 2 --batch 100 --on-error skip --json"
    #expect(try parse(line) == .append(place: "a", topic: "t", options, .json))
    var lines = AppendOptions()
    lines.key = .before("\t")
    #expect(
      try Invocation(arguments: ["append", "a", "t", "--key-separator", "\t"])
        == .append(place: "a", topic: "t", lines, .table))
  }

  @Test func whatIsExportedIsRead() throws {
    #expect(try parse("export a t") == .export(place: "a", topic: "t", ExportOptions()))
    var options = ExportOptions()
    options.start = .time(1_764_547_200_000_000)
    options.end = .offset(90)
    options.partitions = [0, 3]
    options.format = .csv
    options.bytes = .base64
    options.isRaw = true
    let line = "export a t --from 2025-12-01 --to 90 --partition 3,0 --csv --bytes base64 --raw"
    #expect(try parse(line) == .export(place: "a", topic: "t", options))
  }

  @Test(arguments: [
    ("append a", "missing TOPIC"),
    ("append a t --input xml", "takes 'text' or 'json', not 'xml'"),
    ("append a t --key-field id", "'--key-field' needs '--input json'"),
    ("append a t --timestamp-field id", "'--timestamp-field' needs '--input json'"),
    ("append a t --input json --key-field a..b", "has an empty name in 'a..b'"),
    ("append a t --input json --key-separator ,", "is for lines of text"),
    ("append a t --input json --key-field a --key-separator ,", "exclude each other"),
    ("append a t --key-type integer", "'--key-type' needs '--key-field' or '--key-separator'"),
    ("append a t --timestamp-unit ms", "'--timestamp-unit' needs '--timestamp-field'"),
    ("append a t --header x", "'--header' takes NAME=VALUE, not 'x'"),
    ("append a t --header =x", "'--header' takes NAME=VALUE"),
    ("append a t --batch 0", "at least 1, not '0'"),
    ("append a t --batch 500001", "at most 500000"),
    ("append a t --batch 5 --batch 6", "option '--batch' is given twice"),
    ("append a t --on-error ignore", "takes 'fail' or 'skip', not 'ignore'"),
    ("append a t --on-errror skip", "did you mean '--on-error'?"),
    ("export a t --to earliest", "would write nothing"),
    ("export a t --partition 1,x", "not 'x'"),
    ("export a t --partition 1,1", "names a partition twice"),
    ("export a t --bytes raw", "takes 'auto', 'utf8', 'hex' or 'base64', not 'raw'"),
    ("export a t --json --csv", "exclude each other"),
    ("export a t --from yesterday", "an offset or a time"),
  ]) func aWrongLineSaysWhatIsWrong(line: String, expected: String) {
    let text = #expect(throws: UsageError.self) { try parse(line) }?.description
    #expect(text?.contains(expected) == true, "\(text ?? "")")
  }
}
