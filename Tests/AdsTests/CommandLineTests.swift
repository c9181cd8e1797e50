import AdsCore
import Testing

@Suite("The command line") struct CommandLineTests {
  private func options(_ change: (inout Options) -> Void = { _ in }) -> Options {
    var options = Options()
    change(&options)
    return options
  }

  @Test func withoutACommandItRuns() throws {
    #expect(try Request.parse([]) == .run(options()))
    #expect(try Request.parse(["--check"]) == .run(options { $0.check = true }))
    #expect(try Request.parse(["run", "--fresh"]) == .run(options { $0.fresh = true }))
  }

  @Test func valuesFollowOrStandBehindAnEqualsSign() throws {
    let expected = Request.run(
      options {
        $0.parallelism = 4
        $0.store = "a=b"
      })
    #expect(try Request.parse(["run", "--parallelism", "4", "--store=a=b"]) == expected)
  }

  @Test func servingIsACommandAndAFlag() throws {
    let expected = Request.serveLoad(
      options {
        $0.seconds = 3
        $0.readers = 5
      })
    #expect(try Request.parse(["serve-load", "--seconds", "3", "--readers", "5"]) == expected)
    #expect(try Request.parse(["--serve-load", "--seconds=3", "--readers=5"]) == expected)
  }

  @Test func aSelectionNamesHouseholdQueryAndDay() throws {
    #expect(
      try Request.parse(["select", "--household", "7", "--query", "frzn meat", "--date=2017-05-09", "--count", "3"])
        == .select(
          options {
            $0.household = 7
            $0.query = "frzn meat"
            $0.date = Day(year: 2017, month: 5, day: 9)
            $0.count = 3
          }))
  }

  @Test("help wins", arguments: [["--help"], ["help"], ["run", "-h"], ["bogus", "--help"]])
  func help(arguments: [String]) throws {
    #expect(try Request.parse(arguments) == .help)
    #expect(Request.helpText.contains("serve-load"))
  }

  @Test(
    "mistakes are explained",
    arguments: [
      (["rum"], "'rum' is no command. Did you mean 'run'? Known: run, feed, select, serve-load"),
      (["--parralelism", "2"], "'--parralelism' is no option of 'run'. Did you mean '--parallelism'?"),
      (["run", "--seconds", "2"], "'--seconds' is no option of 'run'. Known: --store"),
      (["--fresh", "--fresh"], "--fresh is given twice. Give it once"),
      (["--fresh=yes"], "--fresh takes no value. Write it alone"),
      (["--store"], "--store needs a value. Write --store VALUE or --store=VALUE"),
      (["--store="], "--store is empty. Give the path of a folder"),
      (["--parallelism", "0"], "--parallelism is '0'. Give a whole number from 1 to 128"),
      (["select", "--household", "x"], "--household is 'x'. Give the number of a household"),
      (["select", "--date", "2017-02-30"], "--date is '2017-02-30'. Give a day like 2017-05-31"),
      (["run", "more"], "'more' is no option of 'run'"),
    ] as [([String], String)])
  func mistakes(arguments: [String], message: String) {
    let error = failure { _ = try Request.parse(arguments) }
    #expect(error?.code == .usage)
    #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "nothing thrown")")
  }
}
