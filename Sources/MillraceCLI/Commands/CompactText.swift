import Millrace
import Synchronization

/// Compacts a topic and says what came of it.
struct CompactText {
  let console: Console
  let format: OutputFormat

  /// How far the compaction's thread has come.
  private final class Position: Sendable {
    let bytes = Atomic<Int>(0)
  }

  /// An interrupt stops it between two files; what was replaced until then stays so.
  func compact(_ topic: LogTopic, isSealing: Bool) throws {
    console.catchInterrupts()
    let position = Position()
    var progress = console.progress("compacting", total: nil)
    defer { progress.finish() }
    let work: @Sendable () async throws -> CompactionResult = {
      if isSealing { try await topic.seal() }
      return try await topic.compact { position.bytes.store($0.bytesDone, ordering: .relaxed) }
    }
    let result = try AsyncWork.run(
      isStopped: { Interrupts.hasCome }, look: { progress.update(position.bytes.load(ordering: .relaxed)) }, work)
    progress.finish()
    try report(result, topic.name)
  }

  private func report(_ result: CompactionResult, _ name: String) throws {
    guard format != .json else { return try console.line(JSONText.of(OutputValue(describing: result))) }
    if result.segmentsBefore == 0 {
      return try console.line("nothing to compact in '\(name)': no file is sealed ('--seal' begins a new one)")
    }
    let records =
      "\(HumanText.counted(Int(result.recordsBefore), "record")) to \(HumanText.count(Int(result.recordsAfter)))"
    let bytes = "\(HumanText.size(result.bytesBefore)) to \(HumanText.size(result.bytesAfter))"
    let files = "\(HumanText.counted(result.segmentsBefore, "file")) to \(HumanText.count(result.segmentsAfter))"
    try console.line("compacted '\(name)': \(records), \(bytes), \(files)")
  }
}
