extension Invocation {
  /// What `arguments` (without the program's name) ask for. Pure: opens nothing, prints nothing.
  init(arguments: [String]) throws(UsageError) {
    guard let first = arguments.first else { throw UsageError(message: "a command is missing") }
    switch first {
    case "--help", "-h", "help":
      // "help COMMAND" is what many type.
      if first == "help", arguments.count > 1 {
        self = .help(HelpText.of(try Self.command(arguments[1])))
      } else {
        self = .help(HelpText.general)
      }
    case "--version": self = .version
    default:
      let command = try Self.command(first)
      let split = try SplitArguments(arguments.dropFirst(), command)
      if split.options["help"] != nil {
        self = .help(HelpText.of(command))
      } else {
        self = try Self.invocation(command.name, ArgumentReader(split, command.name))
      }
    }
  }

  private static func command(_ name: String) throws(UsageError) -> CommandSpecification {
    if let command = CommandSpecification.named(name) { return command }
    let kind = name.hasPrefix("-") ? "option" : "command"
    let names = CommandSpecification.all.map(\.name) + ["--help", "--version"]
    throw UsageError(message: "unknown \(kind) '\(name)'\(Suggestion.text(for: name, among: names))")
  }

  private static func invocation(_ name: String, _ arguments: ArgumentReader) throws(UsageError) -> Invocation {
    let store = arguments.operand(0)
    let format = try arguments.format()
    switch name {
    case "inspect": return .inspect(store: store, format)
    case "tail": return .tail(store: store, topic: arguments.operand(1), try arguments.tailOptions(), format)
    case "query": return .query(store: store, view: arguments.operand(1), try arguments.queryOptions(), format)
    case "verify": return .verify(store: store, format)
    default: return .backup(store: store, target: arguments.operand(1))
    }
  }
}
