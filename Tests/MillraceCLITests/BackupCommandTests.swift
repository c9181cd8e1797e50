import Foundation
import Millrace
import Testing

@testable import MillraceCLI

@Suite struct BackupCommandTests {
  @Test func aCopyOpensAndHoldsTheSame() async throws {
    let sample = try await SampleStore()
    let target = sample.folder.file("copy")
    let run = CommandRun("backup", sample.path, target)
    #expect(run.code == 0 && run.errors == "", "\(run.errors)")
    #expect(run.lines.count == 1 && run.output.contains("checkpoint "))
    let copy = try Store.open(at: target)
    #expect(CommandRun("verify", target).lines.last == "sound")
    #expect(
      CommandRun("query", target, "products", "--csv").output
        == CommandRun("query", sample.path, "products", "--csv").output)
    let topic = try copy.topic("events", of: ProductEvent.self, key: \.product, timestamp: \.at, partitions: 2)
    try await topic.append(contentsOf: Array(SampleStore.events.prefix(5)))
    #expect(try topic.log.offsets().map { $0.upperBound }.reduce(0, +) == 405)
    copy.close()
  }

  @Test func whatIsThereIsLeftAlone() async throws {
    let sample = try await SampleStore()
    let target = sample.folder.file("there")
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
    let run = CommandRun("backup", sample.path, target)
    #expect(run.code == 1 && run.errors.contains("choose a path that does not exist"), "\(run.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
    let orphan = CommandRun("backup", sample.path, sample.folder.file("none/copy"))
    #expect(orphan.code == 1 && orphan.errors.contains("none/copy"))
    #expect(CommandRun("backup", sample.folder.file("none"), sample.folder.file("c")).code == 1)
    #expect(!FileManager.default.fileExists(atPath: sample.folder.file("c")))
  }
}
