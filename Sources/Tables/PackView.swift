import Bytes

/// A pack: entries sorted by key in one value, as in runs' chunks and the default blocks. Reading it in place.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 4 | magic "MRPK" |
/// | 4 | 1 | version, 1 |
/// | 5 | 1 | flags: 1 = uniform (all keys of one size, all values of one size, no tombstones) |
/// | 6 | 2 | zero |
/// | 8 | 4 | CRC-32C of everything from offset 12 on |
/// | 12 | 4 | size of the pack |
/// | 16 | 4 | entries, n |
/// | 20 | 4 | key size if uniform |
/// | 24 | 4 | value size if uniform |
/// | 28 | 4 | tag slots, m; 0 in blocks |
/// | 32 | 4m | hash table: tag (16 bits), entry number + 1 (16 bits, 0 = empty) |
/// | | 4n | not uniform: offset of each entry from the pack's start |
/// | | | entries: uniform: key, value; else key size (31 bits) and tombstone (bit 31), key, value up to the next entry |
///
/// All numbers are little-endian. A key's slot is (low half of its XXH64 × m) >> 32 and following ones; its tag the
/// hash's highest 16 bits.
@safe
public struct PackView {
  let base: UnsafeRawPointer
  let size: Int
  /// The number of entries.
  public let count: Int
  private let isUniform: Bool
  private let keySize: Int
  private let valueSize: Int
  private let tagSlots: Int
  private let offsets: Int
  private let entries: Int

  static let magic: UInt32 = 0x4B50_524D
  static let version: UInt8 = 1
  static let head = 32
  static let tombstone: UInt32 = 1 << 31

  /// Why bytes are no pack.
  enum Fault: Error {
    case structure(String)
    case newer(UInt8)
    case checksum
  }

  /// Checks the structure, and the checksum unless it is known to be good.
  init(_ bytes: UnsafeRawBufferPointer, checksum isVerified: Bool = false) throws(Fault) {
    guard bytes.count >= Self.head, let base = bytes.baseAddress else { throw .structure("\(bytes.count) bytes only") }
    guard unsafe bytes.little(UInt32.self, at: 0) == Self.magic else { throw .structure("no pack") }
    guard unsafe bytes[4] == Self.version else { throw unsafe .newer(bytes[4]) }
    unsafe self.base = base
    size = Int(unsafe bytes.little(UInt32.self, at: 12))
    guard size == bytes.count else { throw .structure("\(bytes.count) bytes instead of \(size)") }
    if !isVerified {
      let stored = unsafe bytes.little(UInt32.self, at: 8)
      guard unsafe CRC32C.checksum(bytes.slice(12, size - 12)) == stored else { throw .checksum }
    }
    count = Int(unsafe bytes.little(UInt32.self, at: 16))
    isUniform = unsafe bytes[5] & 1 != 0
    keySize = Int(unsafe bytes.little(UInt32.self, at: 20))
    valueSize = Int(unsafe bytes.little(UInt32.self, at: 24))
    tagSlots = Int(unsafe bytes.little(UInt32.self, at: 28))
    offsets = Self.head + tagSlots * 4
    entries = offsets + (isUniform ? 0 : count * 4)
    let needed = isUniform ? count * (keySize + valueSize) : count * 4
    guard count > 0, entries + needed <= size, tagSlots == 0 || tagSlots > count else {
      throw .structure("\(count) entries do not fit")
    }
  }

  /// The checksum that the bytes carry.
  static func storedChecksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    bytes.count >= head ? unsafe bytes.little(UInt32.self, at: 8) : 0
  }

  private func word(_ offset: Int) -> UInt32 {
    unsafe UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  /// The key of entry `index`, which must be below `count`.
  @inline(__always)
  public func key(_ index: Int) -> UnsafeRawBufferPointer {
    if isUniform {
      return unsafe UnsafeRawBufferPointer(start: base + entries + index &* (keySize &+ valueSize), count: keySize)
    }
    let offset = Int(word(offsets + index * 4))
    let length = Int(word(offset) & ~Self.tombstone)
    return unsafe UnsafeRawBufferPointer(start: base + offset + 4, count: length)
  }

  /// Entry `index`, which must be below `count`.
  @inline(__always)
  public func entry(_ index: Int) -> Change {
    if isUniform {
      let start = unsafe base + entries + index &* (keySize &+ valueSize)
      return unsafe Change(
        key: UnsafeRawBufferPointer(start: start, count: keySize),
        payload: UnsafeRawBufferPointer(start: start + keySize, count: valueSize), isTombstone: false)
    }
    let offset = Int(word(offsets + index * 4))
    let end = index + 1 < count ? Int(word(offsets + index * 4 + 4)) : size
    let length = word(offset)
    let keyCount = Int(length & ~Self.tombstone)
    return unsafe Change(
      key: UnsafeRawBufferPointer(start: base + offset + 4, count: keyCount),
      payload: UnsafeRawBufferPointer(start: base + offset + 4 + keyCount, count: end - offset - 4 - keyCount),
      isTombstone: length & Self.tombstone != 0)
  }

  /// The first entry with a key at or after `key`; `count` if there is none.
  public func lowerBound(_ key: UnsafeRawBufferPointer) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if unsafe self.key(middle).compare(key) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The entry of exactly `key`, whose XXH64 is `hash`: by the hash table if there is one.
  public func find(_ key: UnsafeRawBufferPointer, hash: UInt64) -> Change? {
    if tagSlots == 0 {
      let index = unsafe lowerBound(key)
      if index < count, unsafe self.key(index).compare(key) == 0 { return entry(index) }
      return nil
    }
    var slot = Int(((hash & 0xFFFF_FFFF) * UInt64(tagSlots)) >> 32)
    let tag = UInt32(truncatingIfNeeded: hash >> 48)
    while true {
      let cell = word(Self.head + slot * 4)
      if cell == 0 { return nil }
      if cell & 0xFFFF == tag {
        let index = Int(cell >> 16) - 1
        if unsafe self.key(index).compare(key) == 0 { return entry(index) }
      }
      slot += 1
      if slot == tagSlots { slot = 0 }
    }
  }

  /// What is wrong beyond the checksum: bounds and order of the entries. Nil if nothing.
  func fault() -> String? {
    var previous: UnsafeRawBufferPointer?
    for index in 0..<count {
      if !isUniform {
        let offset = Int(word(offsets + index * 4))
        let end = index + 1 < count ? Int(word(offsets + index * 4 + 4)) : size
        guard offset >= entries, offset + 4 <= size, end <= size else { return "entry \(index) lies outside" }
        guard offset + 4 + Int(word(offset) & ~Self.tombstone) <= end else { return "entry \(index) overlaps" }
      }
      let key = unsafe key(index)
      if let previous = unsafe previous, unsafe previous.compare(key) >= 0 { return "entry \(index) is out of order" }
      unsafe previous = key
    }
    return nil
  }
}
