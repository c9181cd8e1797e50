import Bytes
import Glibc
import LMDB
import Synchronization
import Testing

@testable import EventLog

/// A directory that goes with its holder; `TMPDIR` decides where.
final class TemporaryDirectory: Sendable {
  let path: String

  init() {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((parent + "/eventlog-XXXXXX").utf8CString)
    path = mkdtemp(&template).map { String(cString: $0) } ?? "/tmp/eventlog-failed"
  }

  deinit { Self.remove(path) }

  static func remove(_ path: String) {
    for name in LogFiles.names(in: path) {
      let inner = path + "/" + name
      if LogFiles.isDirectory(inner) { remove(inner) } else { unlink(inner) }
    }
    rmdir(path)
  }

  /// Copies every file under `path`, as a crash would leave them, without the lock files.
  func copy() -> TemporaryDirectory {
    let target = TemporaryDirectory()
    Self.copy(path, target.path)
    return target
  }

  private static func copy(_ from: String, _ to: String) {
    for name in LogFiles.names(in: from) where !name.hasSuffix("-lock") && name != "writer.lock" {
      if LogFiles.isDirectory(from + "/" + name) {
        mkdir(to + "/" + name, 0o755)
        copy(from + "/" + name, to + "/" + name)
      } else {
        Files.write(to + "/" + name, Files.read(from + "/" + name))
      }
    }
  }
}

enum Files {
  static func read(_ path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: LogFiles.size(path) ?? 0)
    var done = 0
    while done < bytes.count {
      let got = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + done, $0.count - done) }
      if got <= 0 { break }
      done += got
    }
    return bytes
  }

  /// The contents of a file whose length is not known, as those of the system are.
  static func readAll(_ path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let got = Glibc.read(descriptor, &chunk, chunk.count), got > 0 { bytes += chunk[..<got] }
    return bytes
  }

  static func write(_ path: String, _ bytes: [UInt8]) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o644)
    defer { close(descriptor) }
    var done = 0
    while done < bytes.count {
      let put = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, $0.count - done) }
      if put <= 0 { break }
      done += put
    }
  }

  /// The place of `pattern` in the file; its only one, if the test made it so.
  static func find(_ pattern: [UInt8], in path: String) -> Int? {
    let bytes = read(path)
    guard let first = pattern.first else { return nil }
    var start = 0
    while let at = bytes[start...].firstIndex(of: first), at + pattern.count <= bytes.count {
      if Array(bytes[at..<at + pattern.count]) == pattern { return at }
      start = at + 1
    }
    return nil
  }

  static func flipBit(_ path: String, at offset: Int) {
    var bytes = read(path)
    bytes[offset] ^= 0x10
    let descriptor = open(path, O_RDWR)
    defer { close(descriptor) }
    pwrite(descriptor, [bytes[offset]], 1, offset)
  }
}

/// A clock that stands still until it is set.
final class TestClock: Sendable {
  private let time = Atomic<Int64>(1_000_000)
  var now: Timestamp { Timestamp(microseconds: time.load(ordering: .relaxed)) }
  func advance(seconds: Int64) { time.add(seconds * 1_000_000, ordering: .relaxed) }
  var read: @Sendable () -> Timestamp { { self.now } }
}

/// SplitMix64: the same numbers for the same seed.
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

  /// A seed of its own for this run, printed so that a failure can be repeated with MILLRACE_SEED.
  static func fresh(_ test: String) -> (SeededGenerator, UInt64) {
    let given = getenv("MILLRACE_SEED").flatMap { UInt64(String(cString: $0)) }
    let seed = given ?? UInt64.random(in: 0...UInt64(UInt32.max))
    print("\(test): seed \(seed)")
    return (SeededGenerator(seed: seed), seed)
  }
}

extension LogTopic {
  /// Everything that can be read of a partition.
  func all(_ partition: Int = 0, damage: LogReader.DamagePolicy = .refuse) throws -> [OwnedRecord] {
    let reader = try reader(partition: partition, from: startOffset(partition), damage: damage)
    return try reader.drain()
  }

  @discardableResult
  func put(_ value: String, key: String? = nil, at time: Int64 = 0) throws -> LogPosition {
    try appendBlocking(
      key: key.map { Array($0.utf8) }, value: Array(value.utf8), timestamp: Timestamp(microseconds: time))
  }

  func values(_ partition: Int = 0) throws -> [String] { try all(partition).map(\.text) }

  func sealBlocking() throws {
    let done = BlockingResult<Void>()
    try requireWriter().run(.thread(done)) { try $0.seal() }
    try done.wait()
  }

  func enqueue(_ value: String, key: String? = nil, at time: Int64 = 0) throws -> Bool {
    try Array(value.utf8).withUnsafeBytes { value in
      guard let key else { return try enqueue(key: nil, value: value, timestamp: Timestamp(microseconds: time)) }
      return try Array(key.utf8).withUnsafeBytes {
        try enqueue(key: $0, value: value, timestamp: Timestamp(microseconds: time))
      }
    }
  }
}

extension LogReader {
  func drain(maxBytes: Int = 1 << 20) throws -> [OwnedRecord] {
    var records: [OwnedRecord] = []
    while try read(
      maxBytes: maxBytes,
      { batch in
        for record in batch { records.append(OwnedRecord(copying: record, partition: batch.partition)) }
      }) > 0
    {}
    return records
  }
}

extension OwnedRecord {
  var text: String { String(decoding: value, as: UTF8.self) }
}

func record(_ value: String, key: String? = nil, at time: Int64 = 0) -> NewRecord {
  NewRecord(
    key: key.map { Array($0.utf8) }, value: Array(value.utf8), timestamp: Timestamp(microseconds: time))
}

/// The log's error that `body` throws.
func failure(_ body: () throws -> Void) -> EventLogError? {
  do {
    try body()
    return nil
  } catch {
    return error as? EventLogError
  }
}
