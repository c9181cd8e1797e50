import CrashSupport
import EventLog
import Foundation
import Testing

@testable import CrashChild

/// Errors of the system at random writes and syncs: told by type, nothing acknowledged is lost, nothing that the log
/// refused is there, and it goes on where it may.
@Suite struct LogErrorTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func failingWritesAndSyncsAreToldAndLoseNothing() throws {
    let seed = SeededRandom.seed(for: "errors in the log")
    var random = SeededRandom(seed: seed)
    var outcomes: [String: Int] = [:]
    for round in 0..<LogLives.rounds(16) {
      let step: Recorder.Failure.Step = [.write, .syncedWrite, .sync][round % 3]
      let root = folder.file("root-\(round)")
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
      let lives = LogLives(directory: root + "/log", seed: seed &+ UInt64(round))
      lives.operations = 120
      // 0: only half is written.
      let error = [ENOSPC, ENOSPC, EIO, step == .write ? 0 : EIO].randomElement(using: &random) ?? EIO
      let failure = Recorder.Failure(
        step, number: Int.random(in: 1...150, using: &random), andAfter: round % 4 == 0, errorNumber: error)
      let comment: Comment = "seed \(seed), round \(round): \(failure)"
      let recorder = Recorder(root: root, journalPath: folder.file("journal-\(round)"))
      let child = try lives.start(environment: try recorder.environment(syncs: true, failing: failure))
      let lines = child.remainingLines()
      lives.add(lines)
      let ending = child.wait()
      let last = lines.last ?? ""
      #expect(ending == .exited(0) && last == "done" || ending == .exited(1) && last.hasPrefix("error "), comment)
      #expect(!last.hasPrefix("error untyped"), "\(comment): \(last)")
      let refused = lines.count { $0.hasPrefix("x ") }
      outcomes[
        last.split(separator: " ").prefix(2).joined(separator: " ") + (refused > 0 ? ", refused" : ""), default: 0] += 1
      try lives.expectSound(comment)
      try lives.runUndisturbed()
      try lives.expectSound(comment)
    }
    print("errors in the log: \(outcomes.sorted { $0.key < $1.key })")
  }
}
