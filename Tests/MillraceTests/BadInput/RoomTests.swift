import Foundation
import LMDB
import Millrace
import Testing

/// No room: in the map of the state file, on the disk.
@Suite struct RoomTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func sales(_ range: Range<Int>) -> [Sale] {
    range.map { Sale("a key of some length, so that the file fills up \($0)", Int64($0), at: Int64($0)) }
  }

  @Test func aFullMapFailsTheJobAndALargerOneGoesOnWithTheRightResult() async throws {
    let all = sales(0..<30_000)
    do {
      let shop = try Shop(folder.file("store"), Store.Options(stateMapBytes: 2 << 20))
      let output = try shop.store.topic("copies", of: Sale.self, key: \.key, timestamp: \.at)
      let job = try job(shop, output)
      try await shop.sales.append(contentsOf: Array(all.prefix(200)))
      try await shop.run(job)
      let before = try shop.rows()
      #expect(before == Total.model(Array(all.prefix(200))))
      let checkpoint = try shop.store.read { try $0.checkpoint }
      try await shop.sales.append(contentsOf: Array(all.dropFirst(200)))
      let error = await failure(DataflowError.self) {
        try await shop.store.run(job, RunOptions(mode: .toEnd, checkpoints: .atEnd))
      }
      #expect(error?.code == .checkpointFailed)
      #expect(error?.isRetriable == true)
      let full = cause(LMDBError.self, of: error)
      #expect(full?.code == .mapFull)
      #expect(full?.description.contains("state.mdb") == true)
      #expect(try shop.rows() == before)
      #expect(try shop.store.read { try $0.checkpoint } == checkpoint)
      #expect(try output.log.endOffset(0) == 200)
      shop.store.close()
    }
    let shop = try Shop(folder.file("store"))
    let output = try shop.store.topic("copies", of: Sale.self, key: \.key, timestamp: \.at)
    try await shop.run(try job(shop, output), parallelism: 2)
    #expect(try shop.rows() == Total.model(all))
    var copied: Set<Int64> = []
    for try await entry in try output.events() { #expect(copied.insert(entry.event.amount).inserted) }
    #expect(copied.count == all.count)
  }

  private func job(_ shop: Shop, _ output: Topic<Sale>) throws -> Job {
    try Job("totals") { flow in
      let sales = flow.from(shop.sales)
      sales.keyed().fold(into: shop.totals, initial: Total.init(key:)) { row, sale in row.add(sale) }
      sales.append(to: output)
    }
  }

  /// Needs the right to mount a file system of some megabytes; elsewhere the full map above stands for it.
  @Test(.enabled(if: TinyDisk.isPossible, "no right to mount a file system"))
  func aFullDiskLosesNothingThatWasStoredAndTheStoreGoesOnWhenThereIsRoom() async throws {
    let disk = try #require(TinyDisk(folder.path + "/disk", megabytes: 32))
    let ballast = disk.path + "/ballast"
    let shop = try Shop(disk.path + "/store", partitions: 1)
    #expect(FileManager.default.createFile(atPath: ballast, contents: Data(count: 26 << 20)))
    var stored = 0
    var refusal: EventLogError?
    while refusal == nil, stored < 1_000_000 {
      do {
        try await shop.sales.append(contentsOf: sales(stored..<stored + 500))
        stored += 500
      } catch let error as EventLogError { refusal = error }
    }
    #expect(refusal?.cause?.code == .diskFull)
    #expect(refusal?.isRetriable == true)
    // Of the group that was refused nothing is there, of what was acknowledged everything.
    var held: [Sale] = []
    for try await entry in shop.sales.events(partition: 0, from: 0) { held.append(entry.event) }
    #expect(held.map(\.amount) == sales(0..<stored).map(\.amount))
    let more = sales(stored + 500..<stored + 600)
    // Nor can a job commit; what it had is there.
    let error = await failure(DataflowError.self) { try await shop.run(try shop.job()) }
    #expect(cause(LMDBError.self, of: error)?.code == .diskFull)
    #expect(try shop.rows().isEmpty)
    try FileManager.default.removeItem(atPath: ballast)
    try await shop.run(try shop.job())
    try await shop.sales.append(contentsOf: more)
    try await shop.run(try shop.job())
    #expect(try shop.rows() == Total.model(held + more))
    shop.store.close()
    let again = try Shop(disk.path + "/store", partitions: 1)
    #expect(try again.rows().count == held.count + 100)
    again.store.close()
  }
}

/// A small file system in memory.
final class TinyDisk {
  let path: String
  static let isPossible = geteuid() == 0 && TinyDisk("/tmp/millrace-probe-\(getpid())", megabytes: 1) != nil

  init?(_ path: String, megabytes: Int) {
    self.path = path
    mkdir(path, 0o755)
    if mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") != 0 {
      rmdir(path)
      return nil
    }
  }

  deinit {
    umount2(path, Int32(MNT_DETACH))
    rmdir(path)
  }
}
