import CrashSupport
import Foundation
import Testing

@testable import CrashChild

/// A program that uses a log from all sides, killed at random moments: what was acknowledged is there, once, in order.
@Suite struct LogKillTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func killedAtRandomMomentsTheLogHoldsWhatItAcknowledged() throws {
    let seed = SeededRandom.seed(for: "kill the log")
    var random = SeededRandom(seed: seed)
    for round in 0..<LogLives.rounds(1) {
      let lives = LogLives(directory: folder.file("log-\(round)"), seed: seed &+ UInt64(round))
      var kills: [String] = []
      while lives.lives < 8 {
        let (lines, moment) = try liveAndDie(lives, &random)
        kills.append(moment)
        let comment: Comment = "seed \(seed), round \(round), killed \(kills)"
        let last = lines.last ?? ""
        #expect(!last.hasPrefix("error"), "\(comment): \(last)")
        // Most of the time the next life comes right after, as it would.
        if lives.lives % 3 == 0 { try lives.expectSound(comment) }
      }
      try lives.runUndisturbed()
      let contents = try lives.expectSound("seed \(seed), round \(round), killed \(kills)")
      print(
        "killed \(kills.count) times: \(lives.history.acknowledgedCount) acknowledged, \(contents.recordCount) there")
      #expect(lives.history.acknowledgedCount > 100)
    }
  }

  private func liveAndDie(_ lives: LogLives, _ random: inout SeededRandom) throws -> ([String], String) {
    let child = try lives.start()
    var lines: [String] = []
    var left = Int.random(in: 1...400, using: &random)
    let isEarly = Int.random(in: 0..<5, using: &random) == 0
    let moment: String
    if isEarly {
      let wait = Int.random(in: 0...40_000, using: &random)
      moment = "\(wait) µs after its start"
      let deadline = ContinuousClock.now + .microseconds(wait)
      while case .line(let line) = child.nextLine(before: deadline) { lines.append(line) }
    } else {
      moment = "after \(left) acknowledgements"
      while left > 0, let line = child.readLine() {
        lines.append(line)
        if line.hasPrefix("a ") { left -= 1 }
      }
    }
    child.kill()
    lines += child.remainingLines()
    child.wait()
    lives.add(lines)
    return (lines, moment)
  }
}
