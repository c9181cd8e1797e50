/// `millrace topics …`.
extension CommandSpecification {
  /// What `create` and `set` share.
  private static let settings: [Option] = [
    Option(name: "segment-bytes", value: "SIZE", help: "Begin a new file at this size: 256MiB, 1G; at least 1MiB."),
    Option(name: "segment-age", value: "TIME", help: "Begin a new file at this age: 90s, 12h, 7d; or 'never'."),
    Option(name: "retention-bytes", value: "SIZE", help: "Remove the oldest files beyond this size; or 'none'."),
    Option(name: "retention-age", value: "TIME", help: "Remove files whose last record is older; or 'forever'."),
    Option(name: "max-record-bytes", value: "SIZE", help: "The largest record; at most 16,777,215 bytes."),
    Option(
      name: "durability", value: "WHEN",
      help: "Appends are acknowledged when 'synced' (default), or before: synced every 'interval:TIME', or by 'system'."
    ),
    Option(name: "timestamps", value: "WHO", help: "Times are the 'event's own (default), or those of the 'append'."),
    Option(name: "compression", value: "HOW", help: "'none' (default), 'zstd', or 'zstd:LEVEL' with 1 to 19."),
    Option(name: "compaction", value: "ON", help: "'on': keep the latest record of each key only; 'off' (default)."),
    Option(name: "tombstone-delay", value: "TIME", help: "How long deletions stay in a compacted topic (default: 1d)."),
    Option(name: "compaction-age", value: "TIME", help: "Leave files alone that were appended to since (default: 0s)."),
  ]

  static let ofTopics: [CommandSpecification] = [
    CommandSpecification(
      name: "topics list", summary: "Show the topics, their records and sizes.", operands: [place],
      options: [json, help], examples: ["millrace topics list ads.store"]),
    CommandSpecification(
      name: "topics describe", summary: "Show a topic's settings, partitions and files.", operands: [place, topic],
      options: [json, help], examples: ["millrace topics describe ads.store purchases --json"]),
    CommandSpecification(
      name: "topics create", summary: "Create a topic.", operands: [place, topic],
      options: [
        Option(name: "partitions", value: "N", help: "How many partitions, for ever (default: 1).")
      ] + settings + [
        Option(name: "init", value: "KIND", help: "Make PATH first, as a 'store' or as a 'log', if there is none."),
        json, help,
      ],
      examples: [
        "millrace topics create ads.store purchases --partitions 8 --retention-age 30d",
        "millrace topics create events.log clicks --init log --segment-bytes 1GiB",
      ]),
    CommandSpecification(
      name: "topics set", summary: "Change a topic's settings; partitions never change.", operands: [place, topic],
      options: settings + [json, help], examples: ["millrace topics set ads.store purchases --retention-age 7d"]),
    CommandSpecification(
      name: "topics compact", summary: "Compact a topic now: of every key only the latest record stays.",
      operands: [place, topic],
      options: [
        Option(name: "seal", value: nil, help: "Begin a new file first, so that the latest records take part."), json,
        help,
      ],
      examples: ["millrace topics compact ads.store prices --seal"]),
    CommandSpecification(
      name: "topics delete", summary: "Delete a topic and its files.", operands: [place, topic],
      options: [Option(name: "yes", value: nil, help: "Do it: nothing brings its records back."), help],
      examples: ["millrace topics delete ads.store purchases --yes"]),
  ]
}
