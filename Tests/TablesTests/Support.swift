import Bytes
import Foundation
import LMDB
import Tables

/// A directory of its own, gone when the test ends.
final class Scratch {
  let path: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tables-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var file: String { path + "/state.mdb" }

  /// The state file, opened with everything tables need. Unsynced: these tests do not crash.
  func open() throws -> Environment {
    try Environment.open(
      at: file, .init(mapSize: 1 << 30, databases: TableSpace.databases, durability: .unsynced))
  }
}

/// A reproducible source of random numbers (SplitMix64, Steele et al. 2014).
struct SeededGenerator: RandomNumberGenerator {
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

/// Keys in the order of tables.
struct Key: Hashable, Comparable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }
  init(_ text: String) { bytes = Array(text.utf8) }

  static func < (left: Key, right: Key) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// A run of `changes` (nil: tombstone).
func run(_ changes: [Key: [UInt8]?], chunkBytes: Int = RunBuilder.chunkBytes) -> Run {
  var builder = RunBuilder(chunkBytes: chunkBytes)
  for (key, value) in changes.sorted(by: { $0.key < $1.key }) {
    unsafe key.bytes.withUnsafeBytes { key in
      if let value {
        unsafe value.withUnsafeBytes { unsafe builder.append(key: key, value: $0) }
      } else {
        unsafe builder.append(key: key, value: nil)
      }
    }
  }
  return builder.finish()
}

extension TableReader {
  func get<T: ReadableTransaction & ~Copyable>(_ key: Key, in transaction: borrowing T) throws -> [UInt8]? {
    try unsafe key.bytes.withUnsafeBytes { bytes in
      try unsafe get(bytes, in: transaction).map { unsafe [UInt8]($0) }
    }
  }

  /// All rows with `start` ≤ key < `end`.
  func rows<T: ReadableTransaction & ~Copyable>(
    from start: Key? = nil, to end: Key? = nil, reverse: Bool = false, limit: Int = .max, in transaction: borrowing T
  ) throws -> [(key: Key, value: [UInt8])] {
    var result: [(Key, [UInt8])] = []
    try unsafe withOptionalBytes(start) { start in
      try unsafe withOptionalBytes(end) { end in
        try unsafe forEach(from: start, to: end, reverse: reverse, in: transaction) { key, value in
          unsafe result.append((Key([UInt8](key)), [UInt8](value)))
          return result.count < limit
        }
      }
    }
    return result
  }
}

private func withOptionalBytes<R>(_ key: Key?, _ body: (UnsafeRawBufferPointer?) throws -> R) throws -> R {
  guard let key else { return try body(nil) }
  return try unsafe key.bytes.withUnsafeBytes { try unsafe body($0) }
}
