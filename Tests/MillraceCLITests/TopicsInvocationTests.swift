import Testing

@testable import MillraceCLI

@Suite struct TopicsInvocationTests {
  private func parse(_ line: String) throws -> Invocation {
    try Invocation(arguments: line.split(separator: " ").map(String.init))
  }

  @Test func commandsOfTwoWordsTakeTheirOperandsAndOptions() throws {
    #expect(try parse("topics list a") == .topics(place: "a", .list, .table))
    #expect(try parse("topics list --json a") == .topics(place: "a", .list, .json))
    #expect(try parse("topics describe a t") == .topics(place: "a", .describe("t"), .table))
    #expect(try parse("topics delete a t") == .topics(place: "a", .delete("t", isSure: false), .table))
    #expect(try parse("topics delete a t --yes") == .topics(place: "a", .delete("t", isSure: true), .table))
    #expect(try parse("topics create a t") == .topics(place: "a", .create("t", TopicSettings(), nil), .table))
  }

  @Test func aTopicsSettingsAreRead() throws {
    let line =
      "topics create a t --partitions 8 --segment-bytes 64MiB --segment-age 12h --retention-bytes 1G "
      + "--retention-age 7d --max-record-bytes 2m --timestamps append --compression zstd:7 --compaction on "
      + "--tombstone-delay 2h --compaction-age 15min --durability interval:100ms --init log"
    var settings = TopicSettings()
    settings.partitions = 8
    settings.segmentBytes = 64 << 20
    settings.segmentAge = .at(.seconds(43_200))
    settings.retentionBytes = .at(1 << 30)
    settings.retentionAge = .at(.seconds(7 * 86_400))
    settings.maximumRecordBytes = 2 << 20
    settings.durability = .interval(.milliseconds(100))
    settings.isTimedByLog = true
    settings.compressionLevel = .at(7)
    settings.isCompacted = true
    settings.tombstoneDelay = .seconds(7200)
    settings.compactionAge = .seconds(900)
    #expect(try parse(line) == .topics(place: "a", .create("t", settings, .log), .table))
  }

  @Test func limitsCanBeLifted() throws {
    var settings = TopicSettings()
    settings.retentionBytes = TopicSettings.Limit<Int>.none
    settings.retentionAge = TopicSettings.Limit<Duration>.none
    settings.segmentAge = TopicSettings.Limit<Duration>.none
    settings.compressionLevel = TopicSettings.Limit<Int>.none
    let line = "topics set a t --retention-bytes none --retention-age forever --segment-age never --compression none"
    #expect(try parse(line) == .topics(place: "a", .set("t", settings), .table))
  }

  @Test func helpIsThereForFamilies() throws {
    for line in ["topics --help", "topics -h", "topics help", "help topics"] {
      #expect(try parse(line) == .help(HelpText.of(family: "topics")))
    }
    let create = try #require(CommandSpecification.named("topics create"))
    for line in ["help topics create", "topics create --help", "topics create a -h"] {
      #expect(try parse(line) == .help(HelpText.of(create)))
    }
  }

  @Test(arguments: [
    ("topics", "'topics' needs to know what to do"),
    ("topic list a", "unknown command 'topic' (did you mean 'topics'?)"),
    ("topics crate a t", "'topics' knows no 'crate' (did you mean 'create'?)"),
    ("topics frobnicate a t", "'topics' knows no 'frobnicate'\n"),
    ("topics list", "missing PATH"),
    ("topics create a", "missing TOPIC"),
    ("topics create a t --partition 3", "unknown option '--partition' (did you mean '--partitions'?)"),
    ("topics create a t --partitions 0", "a whole number of at least 1, not '0'"),
    ("topics create a t --segment-bytes big", "takes a size such as 1048576, 256MiB or 1G, not 'big'"),
    ("topics create a t --segment-bytes 99999999999G", "takes a size"),
    ("topics create a t --retention-age 7", "takes a time such as 500ms, 90s, 12h or 7d, not '7'"),
    ("topics create a t --retention-age 7y", "takes a time"),
    ("topics create a t --compression gzip", "takes 'none', 'zstd' or 'zstd:LEVEL'"),
    ("topics create a t --compression zstd:20", "not 'zstd:20'"),
    (
      "topics create a t --durability often",
      "takes 'synced', 'interval:TIME' (interval:100ms) or 'system', not 'often'"
    ),
    ("topics create a t --durability interval:5", "not 'interval:5'"),
    ("topics create a t --timestamps log", "takes 'event' or 'append', not 'log'"),
    ("topics create a t --compaction yes", "takes 'on' or 'off', not 'yes'"),
    ("topics create a t --init dir", "takes 'store' or 'log', not 'dir'"),
    ("topics set a t", "nothing to change is named"),
    ("topics set a t --partitions 3", "unknown option '--partitions'"),
  ]) func aWrongLineSaysWhatIsWrong(line: String, expected: String) {
    let text = #expect(throws: UsageError.self) { try parse(line) }?.description
    #expect(text?.contains(expected) == true, "\(text ?? "")")
  }
}

@Suite struct SizeAndDurationTextTests {
  @Test(arguments: [
    ("0", 0), ("1048576", 1 << 20), ("1k", 1024), ("1K", 1024), ("1KB", 1024), ("1KiB", 1024), ("256MiB", 256 << 20),
    ("1.5 GiB", 3 << 29), ("2t", 2 << 40), ("17 B", 17),
  ]) func sizes(text: String, bytes: Int) { #expect(SizeText.parse(text) == bytes) }

  @Test(arguments: ["", "x", "-1", "1.5", "1x", "1KiBs", "9223372036854775808", "9000000P", "1..5M", "MiB", " 1"])
  func noSizes(text: String) { #expect(SizeText.parse(text) == nil) }

  @Test(arguments: [
    ("250us", 250), ("500ms", 500_000), ("90s", 90_000_000), ("15min", 900_000_000), ("15m", 900_000_000),
    ("12h", 43_200_000_000), ("7d", 604_800_000_000), ("0s", 0), ("3 h", 10_800_000_000),
  ]) func durations(text: String, microseconds: Int64) {
    #expect(DurationText.parse(text) == .microseconds(microseconds))
  }

  @Test(arguments: ["", "7", "s", "-1s", "1.5h", "1y", "99999999999999d"])
  func noDurations(text: String) { #expect(DurationText.parse(text) == nil) }

  @Test(arguments: [
    (Duration.seconds(604_800), "7d"), (.seconds(90), "90s"), (.milliseconds(1500), "1500ms"), (.zero, "0s"),
    (.seconds(900), "15min"), (.microseconds(7), "7us"), (.seconds(Int64.max), "9223372036854775807s"),
  ]) func durationsAreWrittenInTheLargestUnitThatIsWhole(duration: Duration, text: String) {
    #expect(DurationText.of(duration) == text)
    if text.count < 10 { #expect(DurationText.parse(text) == duration) }
  }
}
