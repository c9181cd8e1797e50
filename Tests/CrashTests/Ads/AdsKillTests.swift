import AdsCore
import CrashSupport
import Foundation
import Millrace
import Testing

@testable import CrashChild

/// A program that feeds the ads example and runs its job, killed again and again: in the end nobody could tell.
@Suite struct AdsKillTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// When a child is killed.
  private enum Moment: CustomStringConvertible {
    /// So long after its start: with its store half created, half opened, half recovered.
    case afterStart(Duration)
    /// On the heels of an acknowledgement, no checkpoint in between.
    case afterAcknowledgements(Int)
    /// So long after it was open: anywhere, in commits, rolls and checkpoints.
    case afterOpening(Duration)

    static func random(_ random: inout SeededRandom) -> Moment {
      switch Int.random(in: 0..<5, using: &random) {
      case 0: .afterStart(.microseconds(Int.random(in: 0...200_000, using: &random)))
      case 1, 2: .afterAcknowledgements(Int.random(in: 1...200, using: &random))
      default: .afterOpening(.microseconds(Int.random(in: 0...700_000, using: &random)))
      }
    }

    var description: String {
      switch self {
      case .afterStart(let time): "\(time) after its start"
      case .afterAcknowledgements(let count): "after \(count) acknowledgements"
      case .afterOpening(let time): "\(time) after opening"
      }
    }
  }

  @Test func killedAtRandomMomentsItEndsAsIfNothingHadHappened() async throws {
    let seed = SeededRandom.seed(for: "kill the ads job")
    var random = SeededRandom(seed: seed)
    let input = try AdsInput(folder.file("data"), modulus: 10, purchases: 6000)
    let undisturbed = AdsLife(store: folder.file("undisturbed"), input: input)
    let acknowledged = try undisturbed.runUndisturbed(parallelism: 2, seed: seed)
    let ads = try AdsStore(at: undisturbed.store, .readOnly)
    let contents = try await AdsContents(ads)
    let expectation = try AdsExpectation(AdsWorkload(folder: input.folder, count: .max), ads)
    expectation.expectWhole(contents, "undisturbed")
    try expectation.expectPresent(acknowledged, contents, ads, "undisturbed")
    #expect(contents.attributions.count > 50)

    var kills = 0
    var round = 0
    while kills < 50 {
      round += 1
      let life = AdsLife(store: folder.file("store-\(round)"), input: input)
      let (acknowledged, moments) = try killUntilDone(life, &random)
      kills += moments.count
      let comment: Comment = "seed \(seed), round \(round), killed \(moments)"
      let after = try AdsStore(at: life.store, .readOnly)
      let found = try await AdsContents(after)
      found.expectSame(as: contents, comment)
      expectation.expectWhole(found, comment)
      try expectation.expectPresent(acknowledged, found, after, comment)
      #expect(Set(acknowledged).count == acknowledged.count, "an event was acknowledged twice: \(comment)")
      let verification = try after.store.verify()
      #expect(verification.isSound, "\(comment): \(verification.damages)")
      #expect(verification.segments > 8)
    }
    print("kill the ads job: \(kills) kills in \(round) rounds")
  }

  /// Starts and kills until a life comes to its end; returns what was acknowledged, and when each life was killed.
  private func killUntilDone(
    _ life: AdsLife, _ random: inout SeededRandom
  ) throws -> (acknowledged: [Acknowledgement], moments: [Moment]) {
    var acknowledged: [Acknowledgement] = []
    var moments: [Moment] = []
    while true {
      let moment = Moment.random(&random)
      let child = try life.start(
        parallelism: Int.random(in: 1...3, using: &random), seed: random.next())
      let lines = kill(child, moment)
      acknowledged += lines.flatMap(Acknowledgement.parse)
      switch child.wait() {
      case .killed(SIGKILL): moments.append(moment)
      case .exited(0):
        #expect(lines.last == "done")
        return (acknowledged, moments)
      case let ending:
        Issue.record("\(ending): \(lines.last ?? "nothing said"), after kills \(moments)")
        return (acknowledged, moments)
      }
    }
  }

  /// Kills `child` at `moment` unless it ends before; returns everything it said.
  private func kill(_ child: ChildProcess, _ moment: Moment) -> [String] {
    var lines: [String] = []
    var left = Int.max
    var deadline = ContinuousClock.now + .seconds(60)
    switch moment {
    case .afterStart(let time): deadline = .now + time
    case .afterAcknowledgements(let count): left = count
    case .afterOpening: break
    }
    reading: while left > 0 {
      switch child.nextLine(before: deadline) {
      case .line(let line):
        lines.append(line)
        if line == "opened", case .afterOpening(let time) = moment { deadline = .now + time }
        if line.hasPrefix("ack") { left -= 1 }
      case .ended, .timedOut: break reading
      }
    }
    child.kill()
    return lines + child.remainingLines()
  }
}
