import AdsCore
import CrashSupport
import Foundation
import Millrace
import Testing

@testable import CrashChild

/// Errors of the system at random writes and syncs of a run of the ads example: told by type, and the run goes on after
/// a restart as if nothing had happened.
@Suite struct AdsErrorTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func failingWritesAndSyncsAreToldAndLoseNothing() async throws {
    let seed = SeededRandom.seed(for: "errors in the ads job")
    var random = SeededRandom(seed: seed)
    let input = try AdsInput(folder.file("data"), modulus: 2, purchases: 30, onlyPromoted: true)
    let count = try AdsWorkload(folder: input.folder, count: .max).countToLastPurchase
    // A first run tells how many writes and syncs there are.
    let (whole, expectation, steps) = try await undisturbed(input, count, seed)

    var outcomes: [String: Int] = [:]
    for round in 0..<36 {
      let step: Recorder.Failure.Step = [.write, .syncedWrite, .sync][round % 3]
      let number = Int.random(in: 1...(steps[step] ?? 1), using: &random)
      // 0: only half is written.
      let error = [ENOSPC, EIO, step == .write ? 0 : EIO].randomElement(using: &random) ?? EIO
      let failure = Recorder.Failure(step, number: number, andAfter: round % 4 == 0, errorNumber: error)
      let comment: Comment = "seed \(seed), round \(round): \(step) \(number), error \(error)"
      let life = try self.life("store-\(round)", input, count)
      let recorder = Recorder(root: folder.file("store-\(round)"), journalPath: folder.file("journal-\(round)"))
      let child = try life.start(
        parallelism: 1 + round % 2, seed: seed, environment: try recorder.environment(syncs: true, failing: failure))
      let lines = child.remainingLines()
      let ending = child.wait()
      let last = lines.last ?? ""
      #expect(ending == .exited(0) && last == "done" || ending == .exited(1) && last.hasPrefix("error "), comment)
      #expect(!last.hasPrefix("error untyped"), "\(comment): \(last)")
      outcomes[last.split(separator: " ").prefix(3).joined(separator: " "), default: 0] += 1
      var acknowledged = lines.flatMap(Acknowledgement.parse)
      acknowledged += try life.runUndisturbed(parallelism: 1, seed: seed)
      let ads = try AdsStore(at: life.store, .readOnly)
      let found = try await AdsContents(ads)
      found.expectSame(as: whole, comment)
      try expectation.expectPresent(acknowledged, found, ads, comment)
      #expect(try ads.store.verify().isSound, comment)
      ads.store.close()
    }
    print("errors in the ads job: \(outcomes.sorted { $0.key < $1.key })")
  }

  private func life(_ name: String, _ input: AdsInput, _ count: Int) throws -> AdsLife {
    try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    var life = AdsLife(store: folder.file(name) + "/store", input: input)
    life.events = count
    life.checkpoints = .records(15)
    life.segmentMilliseconds = 50
    // One at a time: of several appended at once an error may leave some in the log, and which is not told.
    life.groupSize = 1
    return life
  }

  private func undisturbed(
    _ input: AdsInput, _ count: Int, _ seed: UInt64
  ) async throws -> (AdsContents, AdsExpectation, [Recorder.Failure.Step: Int]) {
    let life = try life("undisturbed", input, count)
    let recorder = Recorder(root: folder.file("undisturbed"), journalPath: folder.file("journal"))
    let child = try life.start(
      parallelism: 1, seed: seed, environment: try recorder.environment(syncs: true))
    #expect(child.remainingLines().last == "done")
    let ads = try AdsStore(at: life.store, .readOnly)
    defer { ads.store.close() }
    let contents = try await AdsContents(ads)
    let expectation = try AdsExpectation(AdsWorkload(folder: input.folder, count: count), ads)
    expectation.expectWhole(contents, "undisturbed")
    var steps: [Recorder.Failure.Step: Int] = [:]
    for record in try Journal(path: recorder.journalPath).records {
      switch record.event {
      case .write(_, _, isSynced: false): steps[.write, default: 0] += 1
      case .write(_, _, isSynced: true): steps[.syncedWrite, default: 0] += 1
      case .syncBegin: steps[.sync, default: 0] += 1
      default: break
      }
    }
    return (contents, expectation, steps)
  }
}
