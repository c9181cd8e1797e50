import Bytes

/// Builds packs from entries in key order (`PackView` draws the bytes). Reused from pack to pack.
struct PackBuilder: ~Copyable {
  /// Entry numbers in the hash table have 16 bits, 0 apart.
  static let maximumTaggedCount = 65_534

  private let isTagged: Bool
  private var data = ByteBuffer(capacity: 4096)
  /// Of each entry: size of the key with the tombstone bit, and the bytes of key and value together.
  private var sizes: [(key: UInt32, total: UInt32)] = []
  private var hashes: [UInt64] = []
  private var isUniform = true

  /// - Parameter isTagged: whether packs get a hash table for look-ups.
  init(isTagged: Bool) { self.isTagged = isTagged }

  var count: Int { sizes.count }

  /// The bytes of the pack if it ended here.
  var byteCount: Int { Self.bytes(count, data.count, isUniform, isTagged) }

  /// The bytes of the pack with one more entry.
  func byteCount(adding key: Int, _ value: Int, isTombstone: Bool) -> Int {
    Self.bytes(count + 1, data.count + key + value, staysUniform(key, value, isTombstone), isTagged)
  }

  private static func bytes(_ count: Int, _ data: Int, _ isUniform: Bool, _ isTagged: Bool) -> Int {
    PackView.head + data + (isUniform ? 0 : count * 8) + (isTagged ? slots(count) * 4 : 0)
  }

  private static func slots(_ count: Int) -> Int { count + count / 2 + 1 }

  private func staysUniform(_ key: Int, _ value: Int, _ isTombstone: Bool) -> Bool {
    guard isUniform, !isTombstone else { return false }
    guard let first = sizes.first else { return true }
    return Int(first.key) == key && Int(first.total) == key + value
  }

  /// Appends an entry; its key comes after every other's. `hash` is its XXH64, needed if tagged.
  mutating func append(_ change: Change, hash: UInt64) {
    let key = unsafe change.key
    let value = unsafe change.payload
    isUniform = staysUniform(key.count, value.count, change.isTombstone)
    let mark = change.isTombstone ? PackView.tombstone : 0
    let total = UInt32(truncatingIfNeeded: key.count + value.count)
    sizes.append((UInt32(truncatingIfNeeded: key.count) | mark, total))
    if isTagged { hashes.append(hash) }
    unsafe data.append(key)
    unsafe data.append(value)
  }

  /// Appends the pack to `output` and empties the builder.
  mutating func finish(into output: inout ByteBuffer) {
    let start = output.count
    let slots = isTagged ? Self.slots(count) : 0
    output.reserve(byteCount)
    output.append(PackView.magic)
    output.append(PackView.version)
    output.append(UInt8(isUniform ? 1 : 0))
    output.append(UInt16(0))
    output.append(UInt32(0))
    output.append(UInt32(truncatingIfNeeded: byteCount))
    output.append(UInt32(truncatingIfNeeded: count))
    let first = sizes.first ?? (0, 0)
    output.append(isUniform ? first.key : 0)
    output.append(isUniform ? first.total - first.key : 0)
    output.append(UInt32(truncatingIfNeeded: slots))
    if isTagged { unsafe fillTags(output.appendUninitialized(slots * 4), slots) }
    if isUniform {
      unsafe output.append(data.bytes)
    } else {
      appendEntries(&output, start)
    }
    let checksum = unsafe CRC32C.checksum(output.bytes.slice(start + 12, output.count - start - 12))
    unsafe output.mutableBytes.storeBytes(of: checksum.littleEndian, toByteOffset: start + 8, as: UInt32.self)
    removeAll()
  }

  mutating func removeAll() {
    data.removeAll()
    sizes.removeAll(keepingCapacity: true)
    hashes.removeAll(keepingCapacity: true)
    isUniform = true
  }

  private func fillTags(_ table: UnsafeMutableRawBufferPointer, _ slots: Int) {
    guard let base = table.baseAddress else { return }
    unsafe base.initializeMemory(as: UInt8.self, repeating: 0, count: slots * 4)
    for index in 0..<hashes.count {
      let hash = hashes[index]
      var slot = Int(((hash & 0xFFFF_FFFF) * UInt64(slots)) >> 32)
      while unsafe base.loadUnaligned(fromByteOffset: slot * 4, as: UInt32.self) != 0 {
        slot += 1
        if slot == slots { slot = 0 }
      }
      let cell = UInt32(truncatingIfNeeded: hash >> 48) | UInt32(truncatingIfNeeded: index + 1) << 16
      unsafe base.storeBytes(of: cell.littleEndian, toByteOffset: slot * 4, as: UInt32.self)
    }
  }

  private func appendEntries(_ output: inout ByteBuffer, _ start: Int) {
    var offset = output.count - start + count * 4
    for size in sizes {
      output.append(UInt32(truncatingIfNeeded: offset))
      offset += 4 + Int(size.total)
    }
    var place = 0
    for size in sizes {
      output.append(size.key)
      unsafe output.append(data.bytes.slice(place, Int(size.total)))
      place += Int(size.total)
    }
  }
}
