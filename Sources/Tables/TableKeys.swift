import Bytes

/// The keys of the three databases. Numbers are big-endian, so that a table's entries lie together.
///
/// | database | key |
/// |---|---|
/// | tables | "c": counters; "n" ‖ name: a table's id; "t" ‖ table (4): its state; "s" ‖ table (4) ‖ number (1): a note |
/// | runs | table (4) ‖ run (8) ‖ chunk (4) |
/// | blocks | table (4) ‖ lane (1) ‖ 0 ‖ fence; table ‖ lane ‖ 1 for the block without an upper fence |
enum TableKeys {
  static let counters: [UInt8] = [UInt8(ascii: "c")]
  static let blockHead = 6
  static let laneHead = 5

  static func name(_ name: String) -> [UInt8] { [UInt8(ascii: "n")] + Array(name.utf8) }

  static func state(_ table: TableID) -> [UInt8] { [UInt8(ascii: "t")] + big(table.value) }

  static func note(_ table: TableID, _ number: UInt8) -> [UInt8] {
    [UInt8(ascii: "s")] + big(table.value) + [number]
  }

  static func run(_ table: TableID, _ run: UInt64, chunk: UInt32) -> [UInt8] {
    big(table.value) + big(run) + big(chunk)
  }

  static func lane(_ table: TableID, _ lane: UInt8) -> [UInt8] { big(table.value) + [lane] }

  /// The key of the block below `fence`; nil: of the last.
  static func block(_ table: TableID, _ lane: UInt8, _ fence: Fence?) -> [UInt8] {
    big(table.value) + [lane] + (fence.map { [0] + $0.bytes } ?? [1])
  }

  static func big<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe [UInt8]($0) }
  }
}

/// The exclusive upper bound of a block's keys, and the inclusive lower bound of the next block's: the shortest key
/// that tells them apart.
///
/// LMDB's keys end at 511 bytes, a table's do not. A fence has at most 505 bytes, so keys that agree in their first 505
/// bytes cannot be separated: they stay in one block, however large it gets.
public struct Fence: Hashable, Sendable {
  public static let maximumCount = 505

  public let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// The fence between two neighbouring keys, `left` below `right`; nil if they share 505 bytes.
  public init?(between left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) {
    let count = unsafe Self.separatingCount(left, right)
    guard count <= Self.maximumCount else { return nil }
    bytes = unsafe [UInt8](right.prefix(count))
  }

  /// Whether a block may end between `left` and `right`.
  public static func separates(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    unsafe separatingCount(left, right) <= maximumCount
  }

  private static func separatingCount(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    var common = 0
    let shortest = min(left.count, right.count)
    while unsafe common < shortest && left[common] == right[common] { common += 1 }
    return common + 1
  }

  /// Whether `key` lies below the fence.
  func isAbove(_ key: UnsafeRawBufferPointer) -> Bool {
    unsafe bytes.withUnsafeBytes { unsafe key.compare($0) < 0 }
  }
}
