/// The command line of the benchmarks, parsed without side effects.
enum BenchCommand: Equatable {
  case help
  case list
  case run([String], RunOptions)

  struct RunOptions: Equatable {
    var isJSON = false
    var size: Int?
    var repetitions = 1
    var folder: String?
    var settings: [String: String] = [:]
  }

  struct UsageError: Error, Equatable { var message: String }

  static let usage = """
    usage: millrace-bench list
           millrace-bench run SCENARIO... [--json] [--size N] [--repeat N] [--folder PATH] [--set name=value]

    Files go to a temporary folder (TMPDIR) that is removed at the end of each run, or to PATH, where they stay.
    """

  init(arguments: [String]) throws(UsageError) {
    switch arguments.first {
    case nil, "help", "--help", "-h": self = .help
    case "list": self = .list
    case "run": self = try BenchCommand.parseRun(Array(arguments.dropFirst()))
    case .some(let word): throw UsageError(message: "unknown command \(word)")
    }
  }

  private static func parseRun(_ arguments: [String]) throws(UsageError) -> BenchCommand {
    var names: [String] = []
    var options = RunOptions()
    var rest = arguments[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("--") else {
        names.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      func value() throws(UsageError) -> String {
        if parts.count == 2 { return parts[1] }
        guard let next = rest.popFirst() else { throw UsageError(message: "\(word) needs a value") }
        return next
      }
      switch parts[0] {
      case "--json": options.isJSON = true
      case "--size": options.size = try positive(try value(), parts[0])
      case "--repeat": options.repetitions = try positive(try value(), parts[0])
      case "--folder": options.folder = try value()
      case "--set":
        let pair = try value().split(separator: "=", maxSplits: 1).map(String.init)
        guard pair.count == 2 else { throw UsageError(message: "--set takes name=value") }
        options.settings[pair[0]] = pair[1]
      default: throw UsageError(message: "unknown option \(word)")
      }
    }
    if names.isEmpty { throw UsageError(message: "run takes the name of a scenario; see `millrace-bench list`") }
    return .run(names, options)
  }

  private static func positive(_ text: String, _ option: String) throws(UsageError) -> Int {
    guard let number = Int(text), number > 0 else {
      throw UsageError(message: "\(option) takes a number above zero, not \(text)")
    }
    return number
  }
}
