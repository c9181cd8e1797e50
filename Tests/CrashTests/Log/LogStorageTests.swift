import Bytes
import CrashSupport
import EventLog
import Foundation
import Testing

@testable import CrashChild

/// The machine crashes at any sync of a log's life: what is on the disk then is what was acknowledged, and the log goes
/// on from there.
@Suite struct LogStorageTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func aCrashOfTheMachineLosesNothingThatWasAcknowledged() throws {
    let seed = SeededRandom.seed(for: "crash the log at its syncs")
    var random = SeededRandom(seed: seed)
    let root = folder.file("root")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let lives = LogLives(directory: root + "/log", seed: seed)
    lives.operations = 100
    let recorder = Recorder(root: root, journalPath: folder.file("journal"))
    try lives.runUndisturbed(environment: try recorder.environment())
    let journal = try Journal(path: recorder.journalPath)
    let images = CrashImages(journal: journal, root: root)
    let all = journal.syncPositions + [journal.records.count]
    let positions = all.shuffled(using: &random).prefix(LogLives.rounds(16)).sorted()
    print("recorded \(all.count) syncs, \(journal.records.count) records; crashing at \(positions)")
    var segments = 0
    for (index, position) in positions.enumerated() {
      // Only what is synced, all that was written, and anything between.
      let keeping = [0, 0.3, 0.7, 1][index % 4]
      let comment: Comment = "crash at record \(position), keeping \(keeping), seed \(seed)"
      let image = folder.file("image")
      try images.build(at: position, in: image, keeping: keeping, random: &random)
      var history = LogHistory()
      history.add(journal.marks(before: position), life: 1)
      // A call may be under way whose beginning was told before the crash: it is in the marks, or it did not begin.
      try lives.expectSound(comment, at: image + "/log", history: history, afterPowerLoss: true)
      segments += try goOn(image + "/log", comment)
    }
    #expect(segments > positions.count)
  }

  /// Appends to every partition of what is there.
  private func goOn(_ path: String, _ comment: Comment) throws -> Int {
    let log = try EventLog.open(at: path)
    defer { log.close() }
    var segments = 0
    for name in try log.topicNames() {
      let topic = try log.topic(name)
      for partition in 0..<topic.partitions {
        let end = try topic.endOffset(partition)
        let position = try topic.appendBlocking(
          key: nil, value: [1], timestamp: .init(microseconds: 0), partition: partition)
        #expect(position.offset == end, comment)
      }
      segments += try topic.describe().segments.count
    }
    #expect(try log.verify().isSound, comment)
    return segments
  }
}
