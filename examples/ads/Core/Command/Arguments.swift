/// What the command line asks for.
package enum Request: Hashable, Sendable {
  case run(Options)
  case feed(Options)
  case select(Options)
  case serveLoad(Options)
  case help
}

/// The settings of all commands; each command takes some of them.
package struct Options: Hashable, Sendable {
  /// The folder of the store.
  package var store = "ads.store"
  /// The folder of the data set; nil: the project's own copy.
  package var data: String?
  /// Remove the store first.
  package var fresh = false
  /// Compare every row and many selections with the reference model.
  package var check = false
  /// Subtasks of the job, 1 to 128.
  package var parallelism = 1
  /// How long readers run, 1 to 3,600 seconds.
  package var seconds = 10
  /// How many threads read, 1 to 64; nil: as many as leave the job a core.
  package var readers: Int?
  /// Who the ads are for; `select` needs it.
  package var household: Int64?
  /// What the category must contain.
  package var query = ""
  /// The day of the request.
  package var date = DataSet.lastDay
  /// How many products are wanted, 1 to 1,000.
  package var count = 10

  package init() {}
}

extension Request {
  /// Reads the arguments behind the program's name. Without a command they mean `run`.
  package static func parse(_ arguments: [String]) throws(AdsError) -> Request {
    var rest = arguments[...]
    if rest.contains("--help") || rest.contains("-h") || rest.first == "help" { return .help }
    let command: CommandName
    if let first = rest.first, let named = CommandName(word: first) {
      command = named
      rest.removeFirst()
    } else if let first = rest.first, !first.hasPrefix("-") {
      throw unknown("command", first, CommandName.allCases.map(\.rawValue))
    } else {
      command = .run
    }
    var options = Options()
    var seen: Set<String> = []
    while let argument = rest.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let option = Option(rawValue: parts[0]), command.options.contains(option) else {
        throw unknown("option of '\(command.rawValue)'", parts[0], command.options.map(\.rawValue))
      }
      guard seen.insert(parts[0]).inserted else { throw usage("\(parts[0]) is given twice", "Give it once") }
      if option.isFlag {
        guard parts.count == 1 else { throw usage("\(parts[0]) takes no value", "Write it alone") }
        option.turnOn(&options)
        continue
      }
      guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
        throw usage("\(parts[0]) needs a value", "Write \(parts[0]) VALUE or \(parts[0])=VALUE")
      }
      try option.set(value, &options)
    }
    return command.request(options)
  }

  private static func unknown(_ kind: String, _ word: String, _ known: [String]) -> AdsError {
    let near = known.min { distance(word, $0) < distance(word, $1) }
    let hint = near.flatMap { distance(word, $0) <= max(2, word.utf8.count / 3) ? "Did you mean '\($0)'? " : nil }
    return usage("'\(word)' is no \(kind)", "\(hint ?? "")Known: \(known.joined(separator: ", "))")
  }
}

private func usage(_ what: String, _ remedy: String) -> AdsError { AdsError(.usage, what, remedy: remedy) }

private enum CommandName: String, CaseIterable {
  case run, feed, select
  case serveLoad = "serve-load"

  /// Written as a flag too: `ads --serve-load`.
  init?(word: String) {
    if word == "--serve-load" { self = .serveLoad } else { self.init(rawValue: word) }
  }

  var options: [Option] {
    switch self {
    case .run: [.store, .data, .fresh, .check, .parallelism]
    case .feed: [.store, .data, .fresh]
    case .select: [.store, .household, .query, .date, .count]
    case .serveLoad: [.store, .data, .fresh, .parallelism, .seconds, .readers]
    }
  }

  func request(_ options: Options) -> Request {
    switch self {
    case .run: .run(options)
    case .feed: .feed(options)
    case .select: .select(options)
    case .serveLoad: .serveLoad(options)
    }
  }
}

private enum Option: String {
  case store = "--store"
  case data = "--data"
  case fresh = "--fresh"
  case check = "--check"
  case parallelism = "--parallelism"
  case seconds = "--seconds"
  case readers = "--readers"
  case household = "--household"
  case query = "--query"
  case date = "--date"
  case count = "--count"

  var isFlag: Bool { self == .fresh || self == .check }

  func turnOn(_ options: inout Options) {
    if self == .fresh { options.fresh = true } else { options.check = true }
  }

  func set(_ value: String, _ options: inout Options) throws(AdsError) {
    switch self {
    case .store: options.store = try folder(value)
    case .data: options.data = try folder(value)
    case .parallelism: options.parallelism = try number(value, 1...128)
    case .seconds: options.seconds = try number(value, 1...3_600)
    case .readers: options.readers = try number(value, 1...64)
    case .count: options.count = try number(value, 1...1_000)
    case .query: options.query = value
    case .household:
      guard let id = Int64(value) else { throw usage("\(rawValue) is '\(value)'", "Give the number of a household") }
      options.household = id
    case .date:
      guard let day = Day(value) else { throw usage("\(rawValue) is '\(value)'", "Give a day like 2017-05-31") }
      options.date = day
    case .fresh, .check: turnOn(&options)
    }
  }

  private func folder(_ value: String) throws(AdsError) -> String {
    if value.isEmpty { throw usage("\(rawValue) is empty", "Give the path of a folder") }
    return value
  }

  private func number(_ value: String, _ range: ClosedRange<Int>) throws(AdsError) -> Int {
    guard let number = Int(value), range.contains(number) else {
      throw usage("\(rawValue) is '\(value)'", "Give a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

/// How many bytes have to be put in, taken out or replaced to turn one word into the other.
private func distance(_ left: String, _ right: String) -> Int {
  let right = Array(right.utf8)
  var row = Array(0...right.count)
  for (index, byte) in left.utf8.enumerated() {
    var diagonal = row[0]
    row[0] = index + 1
    for column in 0..<right.count {
      let replaced = diagonal + (right[column] == byte ? 0 : 1)
      diagonal = row[column + 1]
      row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
    }
  }
  return row[right.count]
}
