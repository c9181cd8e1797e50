import Millrace

/// `millrace inspect`: topics, jobs and views, their sizes and positions.
struct InspectCommand {
  let console: Console

  func run(_ store: Store, _ format: OutputFormat) throws -> Int32 {
    let description = try store.describe()
    if format == .json {
      try console.line(JSONText.of(OutputValue(describing: description)))
    } else {
      try overview(description)
      try topics(description)
      try jobs(description)
      try views(description)
    }
    for problem in description.problems { console.note("millrace: \(problem)") }
    return description.problems.isEmpty ? ExitCode.success : ExitCode.failure
  }

  private func overview(_ store: StoreDescription) throws {
    let file = store.stateFile
    try console.line("Store \(DisplayText(store.path).text)")
    try console.line("  checkpoint  \(HumanText.count(Int(clamping: store.checkpoint)))")
    try console.line("  state file  \(HumanText.size(file.bytes)) of at most \(HumanText.size(file.mapLimit))")
    let readers = file.readers.map { "process \($0.processID), \(HumanText.count($0.commitsBehind)) commits behind" }
    try console.line("  snapshots   \(readers.isEmpty ? "none open" : readers.joined(separator: "; "))")
    if let age = file.oldestOwnReaderAge {
      try console.line("  oldest snapshot of this process  \(HumanText.duration(milliseconds: age))")
    }
  }

  private func section(_ title: String, _ table: TableText) throws {
    try console.line("")
    try console.line(title)
    for line in table.lines(width: console.width.map { max($0 - 2, 20) }) { try console.line("  " + line) }
  }

  private func topics(_ store: StoreDescription) throws {
    if store.topics.isEmpty { return try console.line("\nNo topics") }
    var table = TableText(["topic", "partition", "start", "end", "records", "size", "segments"])
    for topic in store.topics {
      table.append([
        .text(topic.name), .text("all \(topic.partitions.count)"), .null, .null, count(topic.records),
        size(topic.bytes), count(topic.segments.count),
      ])
      for partition in topic.partitions {
        table.append([
          .null, .text("\(partition.partition)"), count(partition.startOffset), count(partition.endOffset),
          count(partition.endOffset - partition.startOffset),
        ])
      }
    }
    try section("Topics", table)
  }

  private func jobs(_ store: StoreDescription) throws {
    if store.jobs.isEmpty { return try console.line("\nNo jobs") }
    var table = TableText(["job", "status", "checkpoint", "made", "epoch", "subtasks", "lag"])
    var sources = TableText(["job", "source", "partition", "position", "lag", "watermark"])
    var states = TableText(["job", "state", "kind", "entries, at most", "size", "runs"])
    for job in store.jobs {
      let lags = job.sources.compactMap(\.lag)
      let age = job.checkpointAt.map { Int(clamping: (console.time() - $0.microseconds) / 1000) }
      table.append([
        .text(job.name), .text(job.status), count(Int(clamping: job.checkpoint)),
        .text(age.map { "\(HumanText.duration(milliseconds: max(0, $0))) ago" } ?? "never"),
        count(Int(clamping: job.epoch)), count(job.parallelism),
        lags.isEmpty ? .null : count(lags.reduce(0) { $0.saturatingAdd($1) }),
      ])
      for source in job.sources {
        for partition in source.partitions {
          sources.append([
            .text(job.name), .text(source.name), count(partition.partition), count(partition.position),
            partition.lag.map(count) ?? .null,
            .text((partition.watermark.map(TimeText.of) ?? "none yet") + (partition.isIdle ? " (idle)" : "")),
          ])
        }
      }
      for state in job.states {
        states.append([
          .text(job.name), .text(state.name), .text(state.kind), count(state.approximateEntries), size(state.bytes),
          count(state.runs),
        ])
      }
    }
    try section("Jobs", table)
    if !sources.isEmpty { try section("Positions", sources) }
    if !states.isEmpty { try section("States", states) }
  }

  private func views(_ store: StoreDescription) throws {
    if store.views.isEmpty { return try console.line("\nNo views") }
    var table = TableText(["view", "rows", "size", "indexes"])
    var columns = TableText(["view", "column", "type", "key"])
    for view in store.views {
      let indexes = view.indexes.map { "\($0.name) (\($0.columns.joined(separator: ", ")))" }
      table.append([
        .text(view.name), view.rows.map { count($0) } ?? .text("unknown"), size(view.bytes),
        .text(indexes.joined(separator: "; ")),
      ])
      for column in view.columns {
        columns.append([
          .text(view.name), .text(column.name), .text(column.type + (column.isOptional ? "?" : "")),
          .text(column.isKey ? "primary" : ""),
        ])
      }
    }
    try section("Views", table)
    try section("Columns", columns)
  }

  private func count(_ number: Int) -> OutputValue { .text(HumanText.count(number)) }
  private func count(_ number: Int64) -> OutputValue { .text(HumanText.count(Int(number))) }
  private func size(_ bytes: Int) -> OutputValue { .text(HumanText.size(bytes)) }
}
