import Bytes

/// Where each key of each partition was met last: an open hash table that knows the keys themselves, so that no two
/// keys are ever taken for one.
///
/// Bounded: 24 bytes for each place of the table, which is at most three quarters full and doubles, and 6 bytes beside
/// each key. While the table doubles both halves count.
@safe
struct LatestOffsets: ~Copyable {
  private struct Place {
    var hash: UInt64 = 0
    var offset: Int64 = 0
    /// Where the key lies; 0 for none.
    var key: UInt32 = 0
  }

  private static let chunkBytes = 1 << 20
  // Invariant: `capacity` initialised places, a power of two, not all taken; chunks of `chunkBytes`, of which all but
  // the last are full up to where the next key did not fit, the last one up to `used`.
  private var places: UnsafeMutablePointer<Place>
  private var capacity: Int
  private var chunks: [UnsafeMutableRawPointer] = unsafe []
  private var used = chunkBytes
  private(set) var count = 0
  private let limit: Int

  /// A table that takes about `limit` bytes of memory at most.
  init(limit: Int) {
    self.limit = limit
    capacity = 64
    unsafe places = .allocate(capacity: capacity)
    unsafe places.initialize(repeating: Place(), count: capacity)
  }

  deinit {
    unsafe places.deallocate()
    for index in unsafe chunks.indices { unsafe chunks[index].deallocate() }
  }

  /// Notes that `key` was met at `offset`, later than before. Returns false, having noted nothing, where a new key
  /// would exceed the limit, unless `isForced`.
  mutating func note(_ key: UnsafeRawBufferPointer, partition: Int, offset: Int64, isForced: Bool) -> Bool {
    let hash = unsafe Self.hash(key, partition)
    var index = unsafe find(key, partition, hash)
    if unsafe places[index].key == 0 {
      if !isForced && !hasRoom(for: key.count) { return false }
      if (count + 1) * 4 > capacity * 3 {
        grow()
        index = unsafe find(key, partition, hash)
      }
      unsafe places[index] = Place(hash: hash, offset: offset, key: keep(key, partition))
      count += 1
    } else {
      unsafe places[index].offset = offset
    }
    return true
  }

  /// Where `key` was met last; nil if it was not.
  func offset(of key: UnsafeRawBufferPointer, partition: Int) -> Int64? {
    let index = unsafe find(key, partition, Self.hash(key, partition))
    return unsafe places[index].key == 0 ? nil : places[index].offset
  }

  private static func hash(_ key: UnsafeRawBufferPointer, _ partition: Int) -> UInt64 {
    // A key is always in the same partition unless told otherwise, so this seldom matters.
    unsafe KeyHash(key).value ^ (UInt64(partition) &* 0x9E37_79B9_7F4A_7C15)
  }

  /// The place of the key, or the free one where it belongs.
  private func find(_ key: UnsafeRawBufferPointer, _ partition: Int, _ hash: UInt64) -> Int {
    var index = Int(truncatingIfNeeded: hash) & (capacity - 1)
    while true {
      let place = unsafe places[index]
      if place.key == 0 { return index }
      if place.hash == hash, unsafe isKey(key, partition, at: place.key) { return index }
      index = (index + 1) & (capacity - 1)
    }
  }

  private func isKey(_ key: UnsafeRawBufferPointer, _ partition: Int, at place: UInt32) -> Bool {
    let start = unsafe UnsafeRawPointer(address(place))
    let head = unsafe UnsafeRawBufferPointer(start: start, count: 6)
    guard unsafe Int(head.little(UInt16.self, at: 4)) == key.count,
      unsafe Int(head.little(UInt32.self, at: 0)) == partition
    else { return false }
    return unsafe UnsafeRawBufferPointer(start: start + 6, count: key.count).compare(key) == 0
  }

  /// The address of the key at `place`, which counts from 1.
  private func address(_ place: UInt32) -> UnsafeMutableRawPointer {
    let at = Int(place) - 1
    return unsafe chunks[at / Self.chunkBytes] + at % Self.chunkBytes
  }

  private mutating func keep(_ key: UnsafeRawBufferPointer, _ partition: Int) -> UInt32 {
    let size = 6 + key.count
    if used + size > Self.chunkBytes {
      unsafe chunks.append(.allocate(byteCount: Self.chunkBytes, alignment: 16))
      used = 0
    }
    let place = unsafe UInt32((chunks.count - 1) * Self.chunkBytes + used + 1)
    let target = unsafe address(place)
    unsafe target.storeBytes(of: UInt32(truncatingIfNeeded: partition).littleEndian, as: UInt32.self)
    unsafe (target + 4).storeBytes(of: UInt16(truncatingIfNeeded: key.count).littleEndian, as: UInt16.self)
    if let source = key.baseAddress { unsafe (target + 6).copyMemory(from: source, byteCount: key.count) }
    used += size
    return place
  }

  private func hasRoom(for keyCount: Int) -> Bool {
    let mustGrow = (count + 1) * 4 > capacity * 3
    let table = MemoryLayout<Place>.stride * capacity * (mustGrow ? 3 : 1)
    let keys = unsafe max(0, chunks.count - 1) * Self.chunkBytes + used + 6 + keyCount
    return unsafe table + (chunks.isEmpty ? 6 + keyCount : keys) <= limit
  }

  private mutating func grow() {
    let old = unsafe places
    let oldCapacity = capacity
    capacity *= 2
    unsafe places = .allocate(capacity: capacity)
    unsafe places.initialize(repeating: Place(), count: capacity)
    for index in 0..<oldCapacity where unsafe old[index].key != 0 {
      let place = unsafe old[index]
      var target = Int(truncatingIfNeeded: place.hash) & (capacity - 1)
      while unsafe places[target].key != 0 { target = (target + 1) & (capacity - 1) }
      unsafe places[target] = place
    }
    unsafe old.deallocate()
  }
}
