import Millrace

/// `millrace verify`: checks everything; names what is damaged.
struct VerifyCommand {
  let console: Console

  /// `open` opens the store at `path`; not called if that could end the process.
  func run(_ path: String, _ format: OutputFormat, open: () throws -> Store) throws -> Int32 {
    var found = StoreVerification()
    found.damages = try Store.damagedPages(at: path)
    if found.isSound {
      found = try verify(try open())
    } else {
      found.unchecked.append("everything else: with such damage the store cannot be opened safely")
    }
    if format == .json {
      try console.line(JSONText.of(OutputValue(describing: found)))
    } else {
      try summary(found)
    }
    return found.isSound && found.unchecked.isEmpty ? ExitCode.success : ExitCode.failure
  }

  private func verify(_ store: Store) throws -> StoreVerification {
    var shown: (stage: VerificationProgress.Stage, progress: Progress)?
    let found = try store.verify { progress in
      if shown?.stage != progress.stage {
        shown?.progress.finish()
        shown = (progress.stage, console.progress("verifying \(progress.stage.rawValue)", total: progress.totalBytes))
      }
      shown?.progress.update(progress.bytes)
    }
    shown?.progress.finish()
    return found
  }

  private func summary(_ found: StoreVerification) throws {
    func line(_ title: String, _ text: String) throws { try console.line("\(title)  \(text)") }
    func count(_ number: Int) -> String { HumanText.count(number) }
    try line("pages ", "\(count(found.pages)) walked")
    try line(
      "log   ",
      "\(count(Int(found.records))) records in \(count(found.batches)) batches, \(count(found.segments)) segments, "
        + "\(count(found.topics)) topics, \(HumanText.size(found.logBytes))")
    try line(
      "state ",
      "\(count(found.stateEntries)) entries in \(count(found.states)) states of \(count(found.jobs)) jobs, "
        + "\(count(found.outboxRows)) outbox rows, checkpoint \(count(Int(clamping: found.checkpoint)))")
    for view in found.views {
      try line(
        "view  ",
        "\(DisplayText(view.name).text): \(count(view.rows)) rows in \(count(view.groups)) groups, "
          + "\(count(view.indexEntries)) index entries, \(HumanText.size(view.bytes))")
    }
    for damage in found.damages { try line("DAMAGE", DisplayText(damage.description).text) }
    for unchecked in found.unchecked { try line("SKIPPED", DisplayText(unchecked).text) }
    if found.isSound { return try console.line("sound") }
    let places = found.damages.count == 1 ? "1 place is" : "\(count(found.damages.count)) places are"
    let rest = found.unchecked.isEmpty ? "what is not named here is readable" : "not everything was checked"
    try console.line("\(places) damaged; \(rest)")
  }
}
