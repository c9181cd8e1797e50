import Testing

@testable import MillraceCLI

@Suite struct InvocationTests {
  private func parse(_ line: String) throws -> Invocation {
    try Invocation(arguments: line.split(separator: " ").map(String.init))
  }

  private func message(_ arguments: [String]) -> String? {
    #expect(throws: UsageError.self) { try Invocation(arguments: arguments) }?.description
  }

  private func message(_ line: String) -> String? { message(line.split(separator: " ").map(String.init)) }

  @Test func everyCommandTakesItsOperandsAndOptions() throws {
    #expect(try parse("inspect ads.store") == .inspect(store: "ads.store", .table))
    #expect(try parse("inspect --json ads.store") == .inspect(store: "ads.store", .json))
    #expect(try parse("backup a b") == .backup(store: "a", target: "b"))
    #expect(try parse("verify a") == .verify(store: "a", .table))
    #expect(try parse("verify a --json") == .verify(store: "a", .json))
    #expect(
      try parse("tail a t --partition 3 --from 17 --limit=5 --follow --json")
        == .tail(
          place: "a", topic: "t",
          TailOptions(partition: 3, start: .offset(17), limit: 5, isFollowing: true), .json))
    #expect(try parse("tail a t --from earliest") == .tail(place: "a", topic: "t", .init(start: .earliest), .table))
    #expect(
      try parse("tail a t --from 1970-01-01T00:00:01Z")
        == .tail(place: "a", topic: "t", .init(start: .time(1_000_000)), .table))
    #expect(try parse("tail a t --from=latest") == .tail(place: "a", topic: "t", .init(start: .latest), .table))
  }

  @Test func aQueryIsTakenApart() throws {
    let filter = #"campaign = 7 and category contains "SNACK""#
    let invocation = try Invocation(arguments: [
      "query", "a", "v", "--where", filter, "--order", "bid:desc, product", "--limit", "10", "--columns=bid,product",
      "--csv",
    ])
    let options = QueryOptions(
      filter: .and(.compare(column: "campaign", .equal, .integer(7)), .text(column: "category", .contains, "SNACK")),
      order: [.init(column: "bid", isDescending: true), .init(column: "product", isDescending: false)], limit: 10,
      columns: ["bid", "product"])
    #expect(invocation == .query(store: "a", view: "v", options, .csv))
    #expect(try parse("query a v") == .query(store: "a", view: "v", QueryOptions(), .table))
  }

  @Test func valuesMayContainEqualsSignsAndOperandsDashes() throws {
    #expect(
      try Invocation(arguments: ["query", "a", "v", "--where=x=1"])
        == .query(store: "a", view: "v", .init(filter: .compare(column: "x", .equal, .integer(1))), .table))
    #expect(try parse("backup -- -a --b") == .backup(store: "-a", target: "--b"))
  }

  @Test func helpIsThereForAllAndForEach() throws {
    for line in ["--help", "-h", "help"] { #expect(try parse(line) == .help(HelpText.general)) }
    #expect(try parse("--version") == .version)
    for command in CommandSpecification.all {
      #expect(HelpText.general.contains(command.name))
      let text = HelpText.of(command)
      for option in command.options { #expect(text.contains("--\(option.name)")) }
      for line in ["\(command.name) --help", "\(command.name) -h a b c d", "help \(command.name)"] {
        #expect(try parse(line) == .help(text))
      }
      for example in command.examples where !example.contains("'") {
        // What the shell takes for itself is not the command's.
        let line = example.dropFirst("millrace ".count).prefix { $0 != "<" && $0 != ">" }
        #expect(throws: Never.self) { try parse(String(line)) }
      }
    }
    for line in HelpText.general.split(separator: "\n") { #expect(line.count <= 120) }
  }

  @Test(arguments: [
    ("", "a command is missing"),
    ("inspekt a", "unknown command 'inspekt' (did you mean 'inspect'?)"),
    ("quer a v", "unknown command 'quer' (did you mean 'query'?)"),
    ("--hlep", "unknown option '--hlep' (did you mean '--help'?)"),
    ("xyzzy", "unknown command 'xyzzy'\n"),
    ("query a v --lmiit 3", "unknown option '--lmiit' (did you mean '--limit'?)"),
    ("query a v --ord b", "unknown option '--ord' (did you mean '--order'?)"),
    ("inspect a --csv", "unknown option '--csv'"),
    ("inspect a -j", "unknown option '-j'"),
    ("inspect", "missing STORE"),
    ("query a", "missing VIEW"),
    ("backup a", "missing TARGET"),
    ("backup a b c", "unexpected argument 'c'"),
    ("query a v --limit", "option '--limit' needs a value: --limit N"),
    ("query a v --limit --json", "option '--limit' needs a value"),
    ("query a v --limit=", "option '--limit' needs a value"),
    ("query a v --limit 0", "'--limit' takes a whole number of at least 1, not '0'"),
    ("query a v --limit -3", "not '-3'"),
    ("query a v --limit 99999999999999999999", "takes a whole number"),
    ("query a v --limit 3 --limit 4", "option '--limit' is given twice"),
    ("query a v --json=yes", "option '--json' takes no value"),
    ("query a v --json --csv", "exclude each other"),
    ("query a v --order bid:down", "COLUMN:desc, not 'bid:down'"),
    ("query a v --order a,,b", "has an empty part"),
    ("query a v --order a,a:desc", "names a column twice"),
    ("query a v --order :desc", "'--order'"),
    ("tail a t --from -1", "takes 'earliest', 'latest', an offset or a time (2026-12-01T09:30:00Z), not '-1'"),
    ("tail a t --from start", "not 'start'"),
    ("tail a t --partition x", "at least 0, not 'x'"),
    ("query a v --where x=", "'--where' cannot be understood: a value was expected"),
  ]) func aWrongLineSaysWhatIsWrongAndWhereToReadOn(line: String, expected: String) {
    let text = message(line)
    #expect(text?.contains(expected) == true, "\(text ?? "")")
    #expect(text?.contains("--help' for how it is used.") == true)
  }

  @Test func emptyArgumentsAreNoNames() {
    #expect(message(["inspect", ""])?.contains("STORE is empty") == true)
    #expect(message(["query", "a", "v", "--where", ""])?.contains("needs a value") == true)
    #expect(message([""])?.contains("unknown command ''") == true)
  }

  @Test func exitCodesAreThoseOfTheManual() {
    #expect([ExitCode.success, ExitCode.failure, ExitCode.usage] == [0, 1, 64])
  }

  @Test func suggestionsKeepToWhatIsNear() {
    #expect(Suggestion.distance(Array("abcd"), Array("acbd")) == 1)
    #expect(Suggestion.distance([], Array("ab")) == 2)
    #expect(Suggestion.closest(to: "TAIL", among: ["tail"]) == "tail")
    #expect(Suggestion.closest(to: "q", among: ["query", "tail"]) == nil)
    #expect(Suggestion.closest(to: "", among: ["query"]) == nil)
  }
}
