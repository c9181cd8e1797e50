public import Glibc

/// A growable buffer of bytes for encoders: appends cost a bounds comparison and a store, and it is reused across
/// batches.
///
/// Noncopyable: one owner at a time.
@safe
public struct ByteBuffer: ~Copyable {
  // Invariant: `base` points to `capacity` allocated bytes, of which the first `count` are initialised.
  @usableFromInline internal var base: UnsafeMutableRawPointer
  @usableFromInline internal var capacity: Int
  @usableFromInline internal var used: Int

  /// An empty buffer with room for `capacity` bytes.
  public init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    unsafe self.base = .allocate(byteCount: self.capacity, alignment: 16)
    self.used = 0
  }

  deinit { unsafe base.deallocate() }

  /// The number of bytes held.
  @inlinable
  public var count: Int { used }

  /// The bytes held; valid until the next mutation.
  @inlinable
  @unsafe
  public var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: used) }

  /// The bytes held, for patching; valid until the next append.
  @inlinable
  @unsafe
  public var mutableBytes: UnsafeMutableRawBufferPointer {
    mutating get { unsafe UnsafeMutableRawBufferPointer(start: base, count: used) }
  }

  /// Empties the buffer and keeps its memory.
  @inlinable
  public mutating func removeAll() { used = 0 }

  /// Drops everything from byte `count` on.
  @inlinable
  public mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= used, "truncate(to:) beyond the bytes held")
    used = count
  }

  /// Makes room for `extra` more bytes.
  @inlinable
  public mutating func reserve(_ extra: Int) {
    if capacity - used < extra { grow(by: extra) }
  }

  @usableFromInline
  internal mutating func grow(by extra: Int) {
    let newCapacity = max(capacity * 2, used + extra)
    let newBase = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    unsafe newBase.copyMemory(from: base, byteCount: used)
    unsafe base.deallocate()
    unsafe base = newBase
    capacity = newCapacity
  }

  /// Appends `extra` uninitialised bytes and returns them; valid until the next append. The caller fills them all.
  @inlinable
  @unsafe
  public mutating func appendUninitialized(_ extra: Int) -> UnsafeMutableRawBufferPointer {
    reserve(extra)
    let start = unsafe base + used
    used += extra
    return unsafe UnsafeMutableRawBufferPointer(start: start, count: extra)
  }

  /// Appends the bytes of `bytes`.
  @inlinable
  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    if let source = bytes.baseAddress { unsafe (base + used).copyMemory(from: source, byteCount: bytes.count) }
    used += bytes.count
  }

  /// Appends the bytes of `bytes`.
  @inlinable
  public mutating func append(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe append($0) }
  }

  /// Appends the UTF-8 bytes of `string`, without a length.
  @inlinable
  public mutating func append(utf8 string: String) {
    var string = string
    string.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends `value` in little-endian order: the order of everything but keys.
  @inlinable
  public mutating func append<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
    reserve(MemoryLayout<T>.size)
    unsafe (base + used).storeBytes(of: value.littleEndian, as: T.self)
    used += MemoryLayout<T>.size
  }

  /// Appends `value` in big-endian order: the order of keys.
  @inlinable
  public mutating func append<T: FixedWidthInteger & BitwiseCopyable>(bigEndian value: T) {
    append(T(littleEndian: value.bigEndian))
  }

  /// A copy of the bytes held.
  public var array: [UInt8] { unsafe [UInt8](bytes) }
}

// A buffer owns its memory alone, so moving it to another thread moves everything.
extension ByteBuffer: @unchecked Sendable {}

extension UnsafeRawBufferPointer {
  /// The little-endian integer at `offset`, unaligned. The caller has checked that it lies inside.
  @inlinable
  public func little<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int) -> T {
    unsafe T(littleEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// The big-endian integer at `offset`, unaligned. The caller has checked that it lies inside.
  @inlinable
  public func big<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type, at offset: Int) -> T {
    unsafe T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// The `count` bytes from `offset` on. The caller has checked that they lie inside.
  @inlinable
  public func slice(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(rebasing: self[offset..<offset + count])
  }

  /// Bytewise order, a shorter prefix first: negative, zero or positive as `memcmp`.
  @inlinable
  public func compare(_ other: UnsafeRawBufferPointer) -> Int {
    let common = Swift.min(count, other.count)
    if common > 0, let left = baseAddress, let right = other.baseAddress {
      let order = unsafe memcmp(left, right, common)
      if order != 0 { return Int(order) }
    }
    return count - other.count
  }
}
