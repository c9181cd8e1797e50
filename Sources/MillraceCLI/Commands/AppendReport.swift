/// What `millrace append` did.
struct AppendReport {
  let topic: String
  /// Every partition's end before.
  let starts: [Int64]
  var lines = 0
  var durable = 0
  var skipped = 0
  var isInterrupted = false

  func write(_ console: Console, _ format: OutputFormat, ends: [Int64]) throws {
    guard format == .json else {
      var text = "\(HumanText.counted(durable, "record")) \(durable == 1 ? "is" : "are") durable in '\(topic)'"
      if skipped > 0 { text += ", \(HumanText.counted(skipped, "line")) skipped" }
      return try console.line(text)
    }
    let partitions = zip(starts, ends).enumerated().filter { $0.element.0 < $0.element.1 }.map { index, range in
      OutputValue.object([
        (name: "partition", value: .integer(Int64(index))), (name: "firstOffset", value: .integer(range.0)),
        (name: "endOffset", value: .integer(range.1)),
      ])
    }
    try console.line(
      JSONText.of(
        .object([
          (name: "topic", value: .text(topic)), (name: "lines", value: .integer(Int64(lines))),
          (name: "durable", value: .integer(Int64(durable))), (name: "skipped", value: .integer(Int64(skipped))),
          (name: "interrupted", value: .boolean(isInterrupted)), (name: "partitions", value: .list(partitions)),
        ])))
  }
}
