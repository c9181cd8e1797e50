import Bytes
import Dataflow
import Foundation
import LMDB
import Tables

/// A state file in a folder of its own, gone with the object.
final class TestStore {
  let folder: URL
  let checkpoints: CheckpointStore

  init(mapSize: Int = 1 << 30) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("dataflow-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    checkpoints = try Self.open(folder, mapSize: mapSize)
  }

  static func open(_ folder: URL, mapSize: Int) throws -> CheckpointStore {
    let environment = try Environment.open(
      at: folder.appendingPathComponent("state.mdb").path,
      Environment.Options(
        mapSize: mapSize, databases: TableSpace.databases + CheckpointStore.databases, durability: .unsynced))
    return try CheckpointStore(
      environment: environment, tables: TableSpace(environment: environment),
      retry: CheckpointStore.Retry(attempts: 2, pause: .zero))
  }

  deinit {
    checkpoints.close()
    try? FileManager.default.removeItem(at: folder)
  }
}

/// A small generator with a seed that is printed when a test fails.
struct Random: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state &* 0x2545_F491_4F6C_DD1D
  }
}

extension Timestamp {
  /// Times of tests, in whatever unit.
  static func at(_ time: Int64) -> Timestamp { Timestamp(microseconds: time) }
}

extension Duration {
  static func units(_ count: Int64) -> Duration { .microseconds(count) }
}

/// A value shared by closures of one thread.
final class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}

/// Runs `job` to its end in attempts that stop, crash or change the number of subtasks at random.
func disturb(
  _ job: Job, _ store: TestStore, _ random: inout Random, parallelism: [Int] = [1, 2, 3, 8],
  batchSize: ClosedRange<Int> = 1...40
) throws {
  var attempts = 0
  while true {
    attempts += 1
    let options = RunOptions(
      mode: .drain, parallelism: parallelism.randomElement(using: &random) ?? 1,
      checkpoints: .everyRecords(Int.random(in: 1...60, using: &random)),
      batchSize: Int.random(in: batchSize, using: &random), queueLimit: Int.random(in: 1...100, using: &random),
      stateMemory: Bool.random(using: &random) ? 1 : 1 << 20)
    let turns = Box(random)
    let driver: JobDriver
    do {
      driver = try JobDriver(job, checkpoints: store.checkpoints, options: options) {
        Int.random(in: 0..<$0, using: &turns.value)
      }
    } catch let error as DataflowError where error.code == .drained {
      // The last attempt crashed, or was stopped, when the last epoch was committed already.
      return
    }
    let steps = attempts > 12 ? Int.max : Int.random(in: 0..<200, using: &random)
    var step = 0
    while step < steps && !driver.isFinished {
      try driver.step()
      step += 1
    }
    random = turns.value
    if driver.isFinished { return }
    if Bool.random(using: &random) { try driver.stop() } else { driver.crash() }
  }
}
