/// Command line arguments taken apart by a command's specification.
struct SplitArguments: Equatable {
  var operands: [String] = []
  /// By option name, the values in their order; a switch has an empty one.
  var options: [String: [String]] = [:]

  /// Takes `arguments` apart: `--name value`, `--name=value`, switches, operands in any order; after `--` everything is
  /// an operand.
  init(_ arguments: ArraySlice<String>, _ command: CommandSpecification) throws(UsageError) {
    func wrong(_ message: String) -> UsageError { UsageError(message: message, command: command.name) }
    var rest = arguments
    while let argument = rest.popFirst() {
      if argument == "--" {
        operands += rest
        break
      }
      guard argument.hasPrefix("-"), argument != "-" else {
        operands.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0] == "-h" ? "help" : parts[0].hasPrefix("--") ? String(parts[0].dropFirst(2)) : ""
      guard let option = command.options.first(where: { $0.name == name }) else {
        let hint = Suggestion.text(for: parts[0], among: command.options.map { "--\($0.name)" })
        throw wrong("unknown option '\(parts[0])'\(hint)")
      }
      if options[name] != nil, !option.isRepeatable { throw wrong("option '--\(name)' is given twice") }
      guard let valueName = option.value else {
        if parts.count > 1 { throw wrong("option '--\(name)' takes no value") }
        options[name] = [""]
        continue
      }
      if parts.count > 1, !parts[1].isEmpty {
        options[name, default: []].append(parts[1])
      } else if parts.count == 1, let value = rest.first, !value.isEmpty, !value.hasPrefix("--") {
        options[name, default: []].append(value)
        rest.removeFirst()
      } else {
        throw wrong("option '--\(name)' needs a value: --\(name) \(valueName)")
      }
    }
    if options["help"] != nil { return }
    if operands.count < command.operands.count {
      throw wrong("missing \(command.operands[operands.count].name)")
    }
    if operands.count > command.operands.count {
      throw wrong("unexpected argument '\(operands[command.operands.count])'")
    }
    for (operand, value) in zip(command.operands, operands) where value.isEmpty {
      throw wrong("\(operand.name) is empty")
    }
  }
}
