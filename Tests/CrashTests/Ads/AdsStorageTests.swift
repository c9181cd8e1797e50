import AdsCore
import CrashSupport
import Foundation
import Millrace
import Testing

@testable import CrashChild

/// The machine crashes at any sync of a run of the ads example: what is on the disk then is a whole checkpoint and
/// every acknowledged event, and the run goes on from there as if nothing had happened.
@Suite struct AdsStorageTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }
  /// More images than these are not built of one run; which ones is printed.
  private static let mostImages = 400

  @Test(arguments: [1, 2]) func aCrashAtAnySyncLeavesAWholeCheckpoint(parallelism: Int) async throws {
    let seed = SeededRandom.seed(for: "crash the ads job at every sync, parallelism \(parallelism)")
    let input = try AdsInput(folder.file("data"), modulus: 2, purchases: 20, onlyPromoted: true)
    let count = try AdsWorkload(folder: input.folder, count: .max).countToLastPurchase
    var life = AdsLife(store: folder.file("root/store"), input: input)
    life.events = count
    life.checkpoints = .records(4)
    life.groupSize = 8
    life.segmentMilliseconds = 50
    try FileManager.default.createDirectory(atPath: folder.file("root"), withIntermediateDirectories: true)
    let recorder = Recorder(root: folder.file("root"), journalPath: folder.file("journal"))
    let child = try life.start(parallelism: parallelism, seed: seed, environment: try recorder.environment())
    let lines = child.remainingLines()
    #expect(child.wait() == .exited(0), "\(lines.last ?? "")")

    let ads = try AdsStore(at: life.store, .readOnly)
    let whole = try await AdsContents(ads)
    let expectation = try AdsExpectation(AdsWorkload(folder: input.folder, count: count), ads)
    ads.store.close()
    expectation.expectWhole(whole, "undisturbed")
    #expect(whole.attributions.values.joined().count > 10)

    let journal = try Journal(path: recorder.journalPath)
    var positions = journal.syncPositions
    print("recorded: \(positions.count) syncs, \(journal.records.count) records, \(lines.count) lines")
    var random = SeededRandom(seed: seed)
    if positions.count > Self.mostImages {
      positions = Array(positions.shuffled(using: &random).prefix(Self.mostImages)).sorted()
      print("crashing only at the records \(positions)")
    }
    let crash = AdsCrash(
      images: CrashImages(journal: journal, root: folder.file("root")), expectation: expectation, whole: whole,
      folder: folder.path)
    var found: [AdsCrash.Found] = []
    for (index, position) in (positions + [journal.records.count]).enumerated() {
      // Only what is synced, all that was written, and anything between.
      let keeping = [0, 0.3, 0.7, 1][index % 4]
      if let after = await crash.check(at: position, keeping: keeping, seed: seed) { found.append(after) }
    }
    let checkpoints = Set(found.map(\.checkpoint)).count
    let unsent = found.count { $0.outboxRows > 0 }
    let segments = found.map(\.segments).max() ?? 0
    print(
      "crashed at \(positions.count) syncs and the end: \(checkpoints) different checkpoints, \(unsent) with rows in "
        + "the outbox, up to \(segments) segments")
    #expect(checkpoints > 3)
    #expect(unsent > 0)
    #expect(segments > 4)
  }
}

/// A recorded run, crashed at some record of its journal.
struct AdsCrash {
  let images: CrashImages
  let expectation: AdsExpectation
  let whole: AdsContents
  let folder: String

  /// What an image holds.
  struct Found {
    var checkpoint: UInt64
    var outboxRows: Int
    var segments: Int
  }

  /// Builds the image, checks what is in it, goes on from there to the end. Nil if it went wrong, which is recorded.
  func check(at position: Int, keeping: Double, seed: UInt64) async -> Found? {
    let comment: Comment = "crash at record \(position), keeping \(keeping), seed \(seed)"
    var random = SeededRandom(seed: seed &+ UInt64(position))
    let image = folder + "/image-\(position)"
    var run = AdsRun(path: image + "/store", workload: expectation.workload, seed: seed)
    run.segmentAge = nil
    run.groupSize = 500
    defer { try? FileManager.default.removeItem(atPath: image) }
    do {
      try images.build(at: position, in: image, keeping: keeping, random: &random)
      let ads = try run.open()
      defer { ads.store.close() }
      let acknowledged = images.journal.marks(before: position).flatMap(Acknowledgement.parse)
      let found = try await AdsContents(ads)
      try expectation.expectPresent(acknowledged, found, ads, comment)
      let checkpoint = try expectation.expectWholeCheckpoint(ads, comment)
      let verification = try ads.store.verify()
      #expect(verification.isSound, "\(comment): \(verification.damages)")
      try await run.finish(ads)
      try await AdsContents(ads).expectSame(as: whole, comment)
      return Found(
        checkpoint: checkpoint, outboxRows: verification.outboxRows, segments: verification.segments)
    } catch {
      Issue.record("\(error): \(comment)")
      return nil
    }
  }
}
