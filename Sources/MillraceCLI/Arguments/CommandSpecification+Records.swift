/// The commands that move records in and out.
extension CommandSpecification {
  static let ofRecords: [CommandSpecification] = [
    CommandSpecification(
      name: "append", summary: "Append the lines of standard input to a topic, one record each.",
      operands: [place, topic],
      options: [
        Option(name: "input", value: "KIND", help: "What a line is: 'text' (default), or 'json' (a JSON value)."),
        Option(
          name: "key-field", value: "A.B", help: "The key is this field of the JSON; 'A.0' is the first of a list."),
        Option(name: "key-type", value: "TYPE", help: "How a key is stored: as 'text' (default), or as an 'integer'."),
        Option(name: "key-separator", value: "TEXT", help: "The key is what stands before it in a line of text."),
        Option(name: "timestamp-field", value: "A.B", help: "The time is this field: ISO 8601, or a number."),
        Option(name: "timestamp-unit", value: "UNIT", help: "What a number counts: s, ms or us (default: us)."),
        Option(name: "header", value: "NAME=VALUE", help: "A header for every record.", isRepeatable: true),
        Option(name: "partition", value: "N", help: "All records go to this partition, whatever their keys."),
        Option(name: "batch", value: "N", help: "At most so many records per commit (default: 10,000)."),
        Option(name: "on-error", value: "WHAT", help: "On a bad line: 'fail' (default), or 'skip' it with a message."),
        json, help,
      ],
      examples: [
        "millrace append ads.store purchases --input json --key-field product.id < purchases.jsonl",
        "tail -F access.log | millrace append web.log lines --key-separator ' ' --on-error skip",
      ]),
    CommandSpecification(
      name: "tail", summary: "Show records of a topic.", operands: [place, topic],
      options: [
        Option(name: "partition", value: "N", help: "Only this partition."),
        Option(
          name: "from", value: "WHERE",
          help: "Begin at 'earliest', 'latest', an offset, or a time (default: the last ten of each partition)."),
        Option(name: "limit", value: "N", help: "Stop after so many records."),
        Option(name: "follow", value: nil, help: "Wait for new records until interrupted."),
        Option(
          name: "group", value: "NAME", help: "Go on where this consumer group left off, and commit what is shown."),
        json, help,
      ],
      examples: [
        "millrace tail ads.store purchases --from earliest --limit 5 --json",
        "millrace tail ads.store purchases --from 2026-12-01T09:30:00Z --follow",
      ]),
    CommandSpecification(
      name: "export", summary: "Write records of a topic to standard output, as JSON lines or CSV.",
      operands: [place, topic],
      options: [
        Option(name: "from", value: "WHERE", help: "Begin at 'earliest' (default), an offset, or a time."),
        Option(name: "to", value: "WHERE", help: "End before an offset, a time, or at 'latest' (default: now)."),
        Option(name: "partition", value: "N,...", help: "Only these partitions."),
        Option(name: "csv", value: nil, help: "Write comma-separated values with a line of names."),
        Option(name: "raw", value: nil, help: "Values as they are stored, not by their schema."),
        Option(
          name: "bytes", value: "HOW",
          help: "How keys and raw values are written: 'auto' (text, or else hex), 'utf8', 'hex', 'base64'."),
        json, help,
      ],
      examples: [
        "millrace export ads.store purchases > purchases.jsonl",
        "millrace export ads.store purchases --from 2026-12-01 --to 2026-12-02 --csv > day.csv",
      ]),
  ]
}
