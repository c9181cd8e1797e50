extension Invocation {
  /// What `arguments` (without the program's name) ask for. Pure: opens nothing, prints nothing.
  init(arguments: [String]) throws(UsageError) {
    guard let first = arguments.first else { throw UsageError(message: "a command is missing") }
    switch first {
    case "--help", "-h", "help":
      // "help COMMAND" is what many type.
      if first == "help", arguments.count > 1 {
        self = .help(try Self.help(Array(arguments[1...])))
      } else {
        self = .help(HelpText.general)
      }
    case "--version": self = .version
    default:
      if CommandSpecification.families.contains(first) {
        guard arguments.count > 1 else {
          throw UsageError(message: "'\(first)' needs to know what to do", command: first)
        }
        if ["--help", "-h", "help"].contains(arguments[1]) {
          self = .help(HelpText.of(family: first))
          return
        }
      }
      let (command, words) = try Self.command(arguments)
      let split = try SplitArguments(arguments.dropFirst(words), command)
      if split.options["help"] != nil {
        self = .help(HelpText.of(command))
      } else {
        self = try Self.invocation(command.name, ArgumentReader(split, command.name))
      }
    }
  }

  private static func help(_ words: [String]) throws(UsageError) -> String {
    if words.count == 1, CommandSpecification.families.contains(words[0]) { return HelpText.of(family: words[0]) }
    return HelpText.of(try command(words).command)
  }

  /// The command that `arguments` begin with, and how many words it takes.
  private static func command(
    _ arguments: [String]
  ) throws(UsageError) -> (command: CommandSpecification, words: Int) {
    let first = arguments[0]
    if let command = CommandSpecification.named(first) { return (command, 1) }
    if CommandSpecification.families.contains(first), arguments.count > 1 {
      let second = arguments[1]
      if let command = CommandSpecification.named("\(first) \(second)") { return (command, 2) }
      let names = CommandSpecification.family(first).map { String($0.name.dropFirst(first.count + 1)) }
      throw UsageError(
        message: "'\(first)' knows no '\(second)'\(Suggestion.text(for: second, among: names))", command: first)
    }
    let kind = first.hasPrefix("-") ? "option" : "command"
    let singles = CommandSpecification.all.map(\.name).filter { !$0.contains(" ") }
    let names = singles + CommandSpecification.families + ["--help", "--version"]
    throw UsageError(message: "unknown \(kind) '\(first)'\(Suggestion.text(for: first, among: names))")
  }

  private static func invocation(_ name: String, _ arguments: ArgumentReader) throws(UsageError) -> Invocation {
    let store = arguments.operand(0)
    let format = try arguments.format()
    switch name {
    case "inspect": return .inspect(store: store, format)
    case "tail": return .tail(place: store, topic: arguments.operand(1), try arguments.tailOptions(), format)
    case "query": return .query(store: store, view: arguments.operand(1), try arguments.queryOptions(), format)
    case "verify": return .verify(store: store, format)
    case "backup": return .backup(store: store, target: arguments.operand(1))
    case "append": return .append(place: store, topic: arguments.operand(1), try arguments.appendOptions(), format)
    case "export": return .export(place: store, topic: arguments.operand(1), try arguments.exportOptions())
    case _ where name.hasPrefix("groups "): return .groups(place: store, try arguments.groupsAction(name), format)
    default: return .topics(place: store, try arguments.topicsAction(name), format)
    }
  }
}
