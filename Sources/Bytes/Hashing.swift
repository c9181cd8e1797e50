import CXXHash

/// The hash that places keys: part of the format of a store, never to change.
///
/// XXH64 with seed 0 (the xxHash specification of Yann Collet, "XXH64 algorithm description") over the key's bytes.
/// Its high bits choose partition and key group; hash tables use its low bits.
@frozen
public struct KeyHash: Hashable, Sendable, BitwiseCopyable {
  public let value: UInt64

  @inlinable
  public init(value: UInt64) { self.value = value }

  /// The hash of `key`. Empty keys are ordinary keys.
  public init(_ key: UnsafeRawBufferPointer) {
    self.value = unsafe millrace_xxh64(key.baseAddress, key.count)
  }

  /// The number of key groups of every store.
  public static var keyGroups: Int { 128 }

  /// The partition of the key in a topic of `partitions` partitions: the high 64 bits of hash × partitions.
  @inlinable
  public func partition(of partitions: Int) -> Int {
    Int(truncatingIfNeeded: value.multipliedFullWidth(by: UInt64(truncatingIfNeeded: partitions)).high)
  }

  /// The key group, 0…127.
  @inlinable
  public var keyGroup: Int { Int(truncatingIfNeeded: value >> 57) }

  /// The subtask, of `parallelism`, to which `keyGroup` belongs: group × parallelism / 128.
  @inlinable
  public static func subtask(ofKeyGroup keyGroup: Int, parallelism: Int) -> Int {
    keyGroup * parallelism / keyGroups
  }
}
