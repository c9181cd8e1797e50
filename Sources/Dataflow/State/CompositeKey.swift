public import Bytes

/// The key of one entry of a key's map or list: the owner's key behind its length, then the entry's own key, so that a
/// key's entries lie together in their order.
///
/// The length is one byte, or 255 and four bytes, big-endian.
@usableFromInline
enum CompositeKey {
  static func appendOwner(_ owner: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
    if owner.count < 255 {
      buffer.append(UInt8(owner.count))
    } else {
      buffer.append(255 as UInt8)
      buffer.append(bigEndian: UInt32(truncatingIfNeeded: owner.count))
    }
    unsafe buffer.append(owner)
  }

  /// The bytes of `key` that belong to the owner; nil if it is no composite key.
  static func ownerEnd(of key: UnsafeRawBufferPointer) -> (start: Int, end: Int)? {
    guard let first = unsafe key.first else { return nil }
    if first < 255 { return 1 + Int(first) <= key.count ? (1, 1 + Int(first)) : nil }
    guard key.count >= 5 else { return nil }
    let count = Int(unsafe key.big(UInt32.self, at: 1))
    return 5 + count <= key.count ? (5, 5 + count) : nil
  }

  /// Stays in the owner's key group.
  @inlinable
  static func hash(owner: KeyHash, entry: UnsafeRawBufferPointer) -> KeyHash {
    unsafe owner.withNamespace(KeyHash(entry).value)
  }

  static func hash(of key: UnsafeRawBufferPointer) -> KeyHash {
    guard let owner = unsafe ownerEnd(of: key) else { return unsafe KeyHash(key) }
    return unsafe hash(
      owner: KeyHash(key.slice(owner.start, owner.end - owner.start)),
      entry: key.slice(owner.end, key.count - owner.end))
  }

  /// Makes of a prefix the least key that is above everything with that prefix. Never all ones: it begins with a
  /// length.
  static func makeUpperBound(_ key: inout ByteBuffer) {
    var last = key.count - 1
    while unsafe last > 0 && key.mutableBytes[last] == 0xFF { last -= 1 }
    unsafe key.mutableBytes[last] &+= 1
    key.truncate(to: last + 1)
  }
}
