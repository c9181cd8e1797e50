import CrashSupport
import Foundation
import Testing

@testable import CrashChild

/// Readers in processes of their own beside a job that is killed and started again.
@Suite struct AdsReaderTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: [1, 3]) func otherProcessesSeeWholeCheckpointsOnlyAcrossViews(parallelism: Int) throws {
    let seed = SeededRandom.seed(for: "readers beside the ads job")
    var random = SeededRandom(seed: seed)
    let input = try AdsInput(folder.file("data"), modulus: 10, purchases: 3000)
    var life = AdsLife(store: folder.file("store"), input: input)
    life.checkpoints = .milliseconds(5)
    var readers: [ChildProcess] = []
    var kills = 0
    while true {
      let writer = try life.start(parallelism: parallelism, seed: random.next())
      var left = kills < 3 ? Int.random(in: 20...150, using: &random) : Int.max
      var last: String?
      while left > 0, let line = writer.readLine() {
        last = line
        left -= 1
        if line == "opened" && readers.isEmpty {
          for _ in 0..<2 {
            readers.append(
              try ChildProcess(try ChildProcess.builtExecutable("CrashChild"), ["ads-read", life.store]))
          }
          for reader in readers { #expect(reader.readLine() == "opened") }
        }
      }
      if last == "done" { break }
      writer.kill()
      #expect(writer.wait() == .killed(signal: SIGKILL), "\(last ?? "")")
      kills += 1
      if kills > 10 { break }
    }
    #expect(kills == 3)
    for reader in readers {
      reader.kill()
      let lines = reader.remainingLines()
      #expect(reader.wait() == .killed(signal: SIGKILL), "\(lines.last ?? "")")
      #expect(lines.allSatisfy { $0.hasPrefix("snapshot ") }, "seed \(seed): \(lines.last ?? "")")
      #expect(lines.count > 2)
      print("readers beside the ads job, parallelism \(parallelism): \(lines.count) checkpoints seen")
    }
  }
}
