/// What a command takes: from this its arguments are parsed and its help is written.
struct CommandSpecification: Sendable {
  struct Option: Sendable {
    /// Without the dashes.
    var name: String
    /// What its value is called in the help; nil for a switch.
    var value: String?
    var help: String
  }

  struct Operand: Sendable {
    var name: String
    var help: String
  }

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
  private static let store = Operand(name: "STORE", help: "The directory of the store.")

  /// Every command, in the order of the help.
  static let all: [CommandSpecification] = [
    CommandSpecification(
      name: "inspect", summary: "Show topics, jobs and views, their sizes and positions.", operands: [store],
      options: [json, help], examples: ["millrace inspect ads.store"]),
    CommandSpecification(
      name: "tail", summary: "Show records of a topic.",
      operands: [store, Operand(name: "TOPIC", help: "The name of the topic.")],
      options: [
        Option(name: "partition", value: "N", help: "Only this partition."),
        Option(
          name: "from", value: "OFFSET",
          help: "Begin at this offset, at 'earliest', or at 'latest' (default: the last ten of each partition)."),
        Option(name: "limit", value: "N", help: "Stop after so many records."),
        Option(name: "follow", value: nil, help: "Wait for new records until interrupted."), json, help,
      ], examples: ["millrace tail ads.store purchases --from earliest --limit 5 --json"]),
    CommandSpecification(
      name: "query", summary: "Show rows of a view.",
      operands: [store, Operand(name: "VIEW", help: "The name of the view.")],
      options: [
        Option(name: "where", value: "FILTER", help: "Only rows for which this holds; see the examples."),
        Option(name: "order", value: "COLUMN[:desc],...", help: "Sort by these columns."),
        Option(name: "limit", value: "N", help: "At most so many rows."),
        Option(name: "columns", value: "COLUMN,...", help: "Only these columns, in this order."), json,
        Option(name: "csv", value: nil, help: "Write comma-separated values with a line of names."), help,
      ],
      examples: [
        #"millrace query ads.store products --where 'campaign = 7 and category contains "SNACK"' --order bid:desc"#,
        "millrace query ads.store products --where 'not (units < 10 or campaign is null)' --limit 10 --csv",
      ]),
    CommandSpecification(
      name: "verify", summary: "Check the whole store: checksums, and that indexes equal scans.", operands: [store],
      options: [json, help], examples: ["millrace verify ads.store"]),
    CommandSpecification(
      name: "backup", summary: "Copy the store while it is in use.",
      operands: [store, Operand(name: "TARGET", help: "A directory that does not exist yet.")], options: [help],
      examples: ["millrace backup ads.store /backups/ads.store"]),
  ]

  static func named(_ name: String) -> CommandSpecification? { all.first { $0.name == name } }
}
