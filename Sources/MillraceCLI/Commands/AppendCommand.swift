import Millrace

/// `millrace append`: the lines of standard input become records of a topic.
///
/// A commit holds what was at hand when input paused, `--batch` records at most: what was read is durable before more
/// is waited for. Memory is bounded by a batch.
struct AppendCommand {
  /// Bytes of records per commit, at most.
  private static let batchBytes = 8 << 20
  /// Bad lines that are told one by one.
  private static let toldLines = 100

  let console: Console
  let options: AppendOptions
  let format: OutputFormat

  /// A line that ended the command.
  private struct Stopped: Error, CustomStringConvertible {
    var line: Int
    var reason: String
    var durable: Int

    var description: String {
      "line \(line): \(reason); \(HumanText.counted(durable, "record")) before it "
        + "\(durable == 1 ? "is" : "are") durable, nothing from it on was appended"
    }
  }

  /// The log failed.
  private struct Failed: Error, CustomStringConvertible {
    var cause: any Error
    var durable: Int
    var unknown: Int

    var description: String {
      "\(ErrorText.of(cause)); \(HumanText.counted(durable, "record")) \(durable == 1 ? "is" : "are") durable, "
        + "the \(HumanText.count(unknown)) read behind them are not known to be"
    }
  }

  func run(_ place: LogPlace, _ name: String) throws -> Int32 {
    defer { place.close() }
    let topic = try place.topic(name)
    let target = try AppendTarget(topic, options)
    console.catchInterrupts()
    var report = AppendReport(topic: name, starts: try topic.log.offsets().map(\.upperBound))
    var progress = console.progress("appending", total: nil)
    defer { progress.finish() }
    try append(target, &report, &progress)
    progress.finish()
    report.isInterrupted = console.isStopped()
    if report.isInterrupted { console.note("millrace: interrupted; what was read is durable") }
    try report.write(console, format, ends: try topic.log.offsets().map(\.upperBound))
    return ExitCode.success
  }

  private func append(_ target: AppendTarget, _ report: inout AppendReport, _ progress: inout Progress) throws {
    let records = LineRecords(options)
    var lines = LineReader(maximumBytes: target.maximumLineBytes, read: console.input)
    var batch: [NewRecord] = []
    var bytes = 0
    while true {
      if batch.count >= options.batch || bytes >= Self.batchBytes || lines.mustRead && !console.isInputReady() {
        try commit(&batch, target, &report)
        bytes = 0
      }
      do {
        guard let line = try lines.next() else { break }
        report.lines += 1
        progress.update(report.lines)
        let record = try target.checked(
          try records.record(line, now: Timestamp(microseconds: console.time())))
        bytes += AppendTarget.bytes(of: record)
        batch.append(record)
      } catch let error as LineRecords.BadLine {
        try handle(error.description, &batch, target, &report)
      } catch let error as LineReader.TooLong {
        report.lines += 1
        try handle("it is longer than \(HumanText.count(error.limit)) bytes", &batch, target, &report)
      }
    }
    try commit(&batch, target, &report)
  }

  private func handle(
    _ reason: String, _ batch: inout [NewRecord], _ target: AppendTarget, _ report: inout AppendReport
  ) throws {
    if options.errorPolicy == .fail {
      try commit(&batch, target, &report)
      throw Stopped(line: report.lines, reason: reason, durable: report.durable)
    }
    report.skipped += 1
    if report.skipped <= Self.toldLines { console.note("millrace: skipped line \(report.lines): \(reason)") }
    if report.skipped == Self.toldLines { console.note("millrace: more bad lines are skipped without a message") }
  }

  private func commit(_ batch: inout [NewRecord], _ target: AppendTarget, _ report: inout AppendReport) throws {
    if batch.isEmpty { return }
    do {
      try target.append(batch)
    } catch {
      throw Failed(cause: error, durable: report.durable, unknown: batch.count)
    }
    report.durable += batch.count
    batch.removeAll(keepingCapacity: true)
  }
}
