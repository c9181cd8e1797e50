import Bytes
import Dataflow
import Foundation
import LMDB
import Records
import Tables

/// A state file in a directory of its own, gone when the test ends.
final class StateFile {
  let folder: String
  private(set) var environment: Environment
  private(set) var space: TableSpace
  private let options: TableSpace.Options

  init(options: TableSpace.Options = .init()) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("state-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    self.folder = folder.path
    self.options = options
    environment = try Self.environment(folder.path)
    space = try TableSpace(environment: environment, options: options)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private static func environment(_ folder: String) throws -> Environment {
    try Environment.open(
      at: folder + "/state.mdb",
      .init(mapSize: 4 << 30, databases: TableSpace.databases, durability: .unsynced))
  }

  /// As after a restart of the process.
  func reopen() throws {
    environment = try Self.environment(folder)
    space = try TableSpace(environment: environment, options: options)
  }

  func table<Value>(_ name: String, _ codec: Codec<Value>) throws -> StateTable<Value> {
    let space = space
    return try environment.write { try StateTable(opening: name, codec: codec, space: space, in: $0) }
  }

  func state<Value>(_ table: StateTable<Value>, memoryBudget: Int = .max) -> KeyedState<Value> {
    let backing = StateTableBacking(table, snapshot: StateSnapshot(environment))
    return KeyedState(backing: backing, memoryBudget: memoryBudget)
  }

  /// One checkpoint of `parts`, as the state writer does it.
  func checkpoint(_ parts: [any SealedPart], maintain: Bool = true) throws {
    let space = space
    try environment.write { transaction in
      for part in parts { try part.write(in: transaction, checkpoint: 1) }
      if maintain { _ = try space.maintain(in: transaction) }
    }
    for part in parts { part.committed(checkpoint: 1) }
  }
}

/// A reproducible source of random numbers (SplitMix64, Steele et al. 2014).
struct StateGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

func column<Key: KeyEncodable>(_ keys: [Key]) -> KeyColumn {
  var column = KeyColumn(capacity: keys.count)
  for key in keys { column.append(key) }
  return column
}

extension KeyedState {
  /// The values of `keys`, read one way or another.
  func values<Key: KeyEncodable>(_ keys: [Key]) throws -> [Value?] {
    var result: [Value?] = []
    try read(column(keys), 0..<keys.count) { _, value in result.append(value) }
    return result
  }
}
