/// The texts of `--help`.
enum HelpText {
  static let general: String = {
    let commands = CommandSpecification.all.map { ($0.name, $0.summary) }
    return """
      millrace: look into a Millrace store, check it, copy it, and move records in and out

      Usage: millrace COMMAND PATH [...]

      Commands:
      \(aligned(commands))

      Options:
      \(aligned([("--help", "Show this text; after a command, how it is used."), ("--version", "Show the version.")]))

      Exit codes: 0 done, 1 failed or damage found, 64 wrong command line.
      """
  }()

  /// The commands that begin with one word.
  static func of(family name: String) -> String {
    """
    Usage: millrace \(name) COMMAND PATH [...]

    \(aligned(CommandSpecification.family(name).map { ($0.name, $0.summary) }))

    'millrace \(name) COMMAND --help' says more.
    """
  }

  static func of(_ command: CommandSpecification) -> String {
    let operands = command.operands.map(\.name).joined(separator: " ")
    let options = command.options.map { ("--\($0.name)\($0.value.map { " \($0)" } ?? "")", $0.help) }
    return """
      \(command.summary)

      Usage: millrace \(command.name) \(operands) [options]

      \(aligned(command.operands.map { ($0.name, $0.help) } + options))

      Examples:
      \(command.examples.map { "  \($0)" }.joined(separator: "\n"))
      """
  }

  /// Two columns, indented.
  private static func aligned(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { "  \($0 + String(repeating: " ", count: width - $0.count))  \($1)" }.joined(separator: "\n")
  }
}
