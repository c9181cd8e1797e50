public import Bytes

/// The keys of a batch, one per record, with their hashes: made once where the records are keyed, used by exchange,
/// state and timers.
///
/// Noncopyable: it belongs to its batch; `copy()` where a stream forks. Appending costs no allocation once warm.
@safe
public struct KeyColumn: ~Copyable {
  // Invariant: `keys` and `hashes` hold `capacity` elements, the first `used` initialised. The place of a long key is
  // its offset in `arena`.
  @usableFromInline internal var keys: UnsafeMutablePointer<InlineKey>
  @usableFromInline internal var hashes: UnsafeMutablePointer<UInt64>
  @usableFromInline internal var used: Int
  @usableFromInline internal var capacity: Int
  @usableFromInline internal var arena: ByteBuffer

  /// An empty column with room for `capacity` keys.
  public init(capacity: Int = 0) {
    let room = max(capacity, 16)
    unsafe keys = .allocate(capacity: room)
    unsafe hashes = .allocate(capacity: room)
    used = 0
    self.capacity = room
    arena = ByteBuffer(capacity: 16)
  }

  deinit {
    unsafe keys.deallocate()
    unsafe hashes.deallocate()
  }

  /// The number of keys.
  @inlinable public var count: Int { used }

  /// Empties the column and keeps its memory.
  public mutating func removeAll() {
    used = 0
    arena.removeAll()
  }

  /// Drops the keys from `count` on; the memory of long ones stays taken until the column is emptied.
  @inlinable
  public mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= used, "truncate beyond the keys held")
    used = count
  }

  /// Makes room for `extra` more keys.
  @inlinable
  public mutating func reserve(_ extra: Int) {
    if capacity - used < extra { grow(by: extra) }
  }

  @usableFromInline
  internal mutating func grow(by extra: Int) {
    let room = max(capacity * 2, used + extra)
    let newKeys = UnsafeMutablePointer<InlineKey>.allocate(capacity: room)
    let newHashes = UnsafeMutablePointer<UInt64>.allocate(capacity: room)
    unsafe newKeys.update(from: keys, count: used)
    unsafe newHashes.update(from: hashes, count: used)
    unsafe keys.deallocate()
    unsafe hashes.deallocate()
    unsafe keys = newKeys
    unsafe hashes = newHashes
    capacity = room
  }

  @inlinable
  internal mutating func push(_ key: InlineKey, _ hash: UInt64) {
    reserve(1)
    unsafe keys[used] = key
    unsafe hashes[used] = hash
    used += 1
  }

  /// Appends a key of any length, the empty one included (lengths up to 4 GiB).
  @inlinable
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if bytes.count == 8 {
      let word = unsafe bytes.little(UInt64.self, at: 0)
      push(InlineKey(eightBytes: word), KeyHash(eightBytes: word).value)
    } else {
      unsafe append(bytes, hash: KeyHash(bytes))
    }
  }

  /// Appends a key whose hash is known. `hash` decides the key group: it must be the hash of the key, or of the key
  /// without its namespace mixed by `withNamespace`.
  @inlinable
  public mutating func append(_ bytes: UnsafeRawBufferPointer, hash: KeyHash) {
    if bytes.count <= InlineKey.inlineLimit {
      unsafe push(InlineKey(short: bytes), hash.value)
    } else {
      let place = UInt64(truncatingIfNeeded: arena.count)
      unsafe arena.append(bytes)
      push(InlineKey(longAt: place, count: bytes.count, hash: hash.value), hash.value)
    }
  }

  /// Appends eight bytes as they lie in memory.
  @inlinable
  internal mutating func append(eightBytes word: UInt64) {
    push(InlineKey(eightBytes: word), KeyHash(eightBytes: word).value)
  }

  /// Appends the canonical key of `value` (see `KeyEncodable`).
  @inlinable
  public mutating func append<Key: KeyEncodable>(_ value: Key) { value.append(to: &self) }

  /// Appends key `index` of `other`.
  @inlinable
  public mutating func append(from other: borrowing KeyColumn, at index: Int) {
    let key = unsafe other.keys[index]
    if key.isLong {
      unsafe other.withBytes(at: index) { unsafe append($0, hash: KeyHash(value: other.hashes[index])) }
    } else {
      unsafe push(key, other.hashes[index])
    }
  }

  /// Appends key `index` of `other` with `namespace` (a window's start, say) behind it, big-endian and with its sign
  /// flipped. It stays in the key group of the key.
  @inlinable
  public mutating func append(from other: borrowing KeyColumn, at index: Int, namespace: Int64) {
    let ordered = UInt64(bitPattern: namespace) ^ 1 &<< 63
    let hash = unsafe KeyHash(value: other.hashes[index]).withNamespace(ordered)
    let count = unsafe other.keys[index].count + 8
    unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { bytes in
      unsafe other.withBytes(at: index) { unsafe bytes.copyMemory(from: $0) }
      unsafe bytes.storeBytes(of: ordered.bigEndian, toByteOffset: count - 8, as: UInt64.self)
      unsafe append(UnsafeRawBufferPointer(bytes), hash: hash)
    }
  }

  /// The hash of key `index`: partition, key group and subtask follow from it.
  @inlinable
  public func hash(at index: Int) -> KeyHash {
    precondition(index >= 0 && index < used, "key index out of range")
    return unsafe KeyHash(value: hashes[index])
  }

  /// Runs `body` on the bytes of key `index`; they are valid inside only.
  @inlinable
  public func withBytes<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    precondition(index >= 0 && index < used, "key index out of range")
    let key = unsafe keys[index]
    if key.isLong { return try unsafe body(arena.bytes.slice(Int(key.low), key.count)) }
    // A short key's bytes are its memory on a little-endian machine. (A copy on the stack is read wrongly by optimised
    // code of Swift 6.3.1: do not go back to one. The ads example's release run against its oracles would show it.)
    return try unsafe body(UnsafeRawBufferPointer(start: keys + index, count: key.count))
  }

  /// A column of the same keys.
  public func copy() -> KeyColumn {
    var result = KeyColumn(capacity: used)
    unsafe result.keys.update(from: keys, count: used)
    unsafe result.hashes.update(from: hashes, count: used)
    result.used = used
    unsafe result.arena.append(arena.bytes)
    return result
  }
}

// A column owns its memory alone, so moving it to another thread moves everything; reading it changes nothing.
extension KeyColumn: @unchecked Sendable {}
