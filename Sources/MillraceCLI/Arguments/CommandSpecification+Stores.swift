/// The commands about a store as a whole.
extension CommandSpecification {
  private static let store = Operand(name: "STORE", help: "The directory of the store.")

  static let ofStores: [CommandSpecification] = [
    CommandSpecification(
      name: "inspect", summary: "Show topics, jobs and views, their sizes and positions.", operands: [store],
      options: [json, help], examples: ["millrace inspect ads.store"]),
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
}
