/// What a command takes: from this its arguments are parsed and its help is written.
struct CommandSpecification: Sendable {
  struct Option: Sendable {
    /// Without the dashes.
    var name: String
    /// What its value is called in the help; nil for a switch.
    var value: String?
    var help: String
    /// Whether it may be given several times.
    var isRepeatable = false
  }

  struct Operand: Sendable {
    var name: String
    var help: String
  }

  /// One word, or two for one of a family: "topics create".
  var name: String
  /// One line for the list of commands.
  var summary: String
  var operands: [Operand]
  var options: [Option]
  /// Command lines that show it in use.
  var examples: [String] = []

  static let help = Option(name: "help", value: nil, help: "Show this text.")
  static let json = Option(name: "json", value: nil, help: "Write JSON.")
}

extension CommandSpecification {
  /// Every command, in the order of the help.
  static let all = ofStores + ofTopics + ofRecords + ofGroups

  /// The first words of commands of two.
  static let families: [String] = all.reduce(into: []) { families, command in
    let words = command.name.split(separator: " ")
    if words.count > 1, let first = words.first, !families.contains(String(first)) { families.append(String(first)) }
  }

  static func named(_ name: String) -> CommandSpecification? { all.first { $0.name == name } }

  /// The commands of a family.
  static func family(_ name: String) -> [CommandSpecification] { all.filter { $0.name.hasPrefix(name + " ") } }

  /// A directory that may be either.
  static let place = Operand(name: "PATH", help: "The directory of a store, or of a log by itself.")
  static let topic = Operand(name: "TOPIC", help: "The name of the topic.")
}
