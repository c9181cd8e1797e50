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
