import Bytes
import Foundation
import LMDB
import Tables
import Testing

@testable import Dataflow

/// What a reader that stays open does to checkpoints.
@Suite struct OldReaderTests {
  @Test func mergingPausesWhileAReaderIsOldAndCheckpointsAreRefusedPastTheBound() {
    var watch = ReaderWatch(limits: ReaderWatch.Limits(oldAfter: 1000, maximumGrowth: 500))
    let reader = Environment.Reader(processID: 42, transactionID: 5)
    func decide(_ now: Int64, _ transaction: Int, _ bytes: Int, _ readers: [Environment.Reader]) -> ReaderWatch.Action {
      watch.decide(now: now, lastTransaction: transaction, bytesUsed: bytes) { readers }
    }
    #expect(decide(0, 5, 1000, [reader]) == .merge)
    #expect(decide(500, 6, 1000, [reader]) == .merge)
    #expect(decide(1400, 7, 1000, [reader]) == .merge)
    // The commit after the reader's is older than the limit now.
    #expect(decide(1700, 8, 1100, [reader]) == .pause(process: 42))
    #expect(decide(1750, 9, 1600, [reader]) == .pause(process: 42))
    #expect(decide(1800, 10, 1601, [reader]) == .refuse(process: 42, growth: 501))
    #expect(decide(1900, 10, 1601, []) == .merge)
    // A reader that keeps moving on is never old.
    for step in 0..<20 {
      let now = 2000 + Int64(step) * 300
      let moving = Environment.Reader(processID: 43, transactionID: 10 + step)
      #expect(decide(now, 11 + step, 2000, [moving]) == .merge)
    }
  }

  @Test func aCheckpointPastTheBoundNamesTheReadersProcessAndGoesOnWhenItIsGone() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("old-reader-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let environment = try Environment.open(
      at: folder.appendingPathComponent("state.mdb").path,
      Environment.Options(mapSize: 1 << 30, databases: TableSpace.databases + CheckpointStore.databases))
    let clock = ManualClock()
    let checkpoints = try CheckpointStore(
      environment: environment, tables: TableSpace(environment: environment),
      retry: CheckpointStore.Retry(attempts: 0, pause: .zero), maximumGrowth: 256 << 10, clock: clock)
    defer { checkpoints.close() }
    let source = MemorySource<Int64>("numbers", partitions: 1)
    let job = try Job("sums") { flow in
      _ = flow.from(source).keyed(by: { $0 }).fold("sum", initial: Int64(0)) { sum, value in sum &+= value }
    }
    func run(_ values: Range<Int64>) throws {
      for value in values { source.append(value, at: Timestamp(microseconds: value)) }
      clock.advance(by: .milliseconds(600))
      try JobRunner(job, checkpoints: checkpoints, options: RunOptions(mode: .toEnd)).runBlocking()
    }
    try run(0..<1000)
    var reader: ReadTransaction? = try environment.beginRead()
    let refused = #expect(throws: DataflowError.self) {
      for round in Int64(1)...40 { try run(round * 10_000..<round * 10_000 + 5000) }
    }
    #expect(refused?.code == .checkpointFailed)
    #expect(refused?.isRetriable == true)
    #expect(refused.map { "\($0)".contains("process \(ProcessInfo.processInfo.processIdentifier)") } == true)
    reader = nil
    _ = consume reader
    try run(900_000..<900_010)
    #expect(try checkpoints.job("sums")?.status == .stopped)
  }
}
