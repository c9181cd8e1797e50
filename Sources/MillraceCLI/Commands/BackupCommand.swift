import Millrace

/// `millrace backup`: copies the store while it is in use.
struct BackupCommand {
  let console: Console

  func run(_ store: Store, _ target: String) throws -> Int32 {
    var shown: Progress?
    let report = try store.backup(to: target) { progress in
      if shown == nil { shown = console.progress("copying", total: progress.totalBytes) }
      shown?.update(progress.bytes)
    }
    shown?.finish()
    try console.line(
      "\(DisplayText(report.target).text): checkpoint \(HumanText.count(Int(clamping: report.checkpoint))), "
        + "state \(HumanText.size(report.stateBytes)), log \(HumanText.size(report.logBytes))")
    return ExitCode.success
  }
}
