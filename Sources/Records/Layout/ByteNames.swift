internal import Bytes
internal import Glibc
internal import Synchronization

/// Remembers which strings the values of a one-byte type stand for, as they are met: an enum's `rawValue` and
/// `init(rawValue:)` compare strings case by case.
///
/// Two tables of 256 slots, one by the value's byte and one by a hash of the string; a string whose slot is taken, or
/// of more than 64 bytes, is not remembered.
@safe
final class ByteNames: @unchecked Sendable {
  // Invariant: a slot is 0 or the address of an entry, set once by compare-and-exchange; the entry (value, padding,
  // UInt32 length, bytes) is complete before that, never changed after it, and freed by deinit alone.
  private let byValue: UnsafeMutablePointer<Atomic<UInt>>
  private let byName: UnsafeMutablePointer<Atomic<UInt>>
  private static let slots = 256
  private static let longest = 64

  init() {
    unsafe byValue = .allocate(capacity: Self.slots)
    unsafe byName = .allocate(capacity: Self.slots)
    for index in 0..<Self.slots {
      unsafe (byValue + index).initialize(to: Atomic(0))
      unsafe (byName + index).initialize(to: Atomic(0))
    }
  }

  deinit {
    unsafe free(byValue)
    unsafe free(byName)
  }

  private func free(_ table: UnsafeMutablePointer<Atomic<UInt>>) {
    for index in 0..<Self.slots { unsafe entry(table, index)?.deallocate() }
    unsafe table.deinitialize(count: Self.slots)
    unsafe table.deallocate()
  }

  /// Appends the string of `value`; false if it is not known yet.
  func append(_ value: UInt8, to buffer: inout ByteBuffer) -> Bool {
    guard let entry = unsafe entry(byValue, Int(value)) else { return false }
    unsafe buffer.append(name(entry))
    return true
  }

  /// The value of the string; `nil` if it is not known yet.
  func value(of string: UnsafeRawBufferPointer) -> UInt8? {
    guard let entry = unsafe entry(byName, slot(string)) else { return nil }
    guard unsafe name(entry).compare(string) == 0 else { return nil }
    return unsafe entry.load(as: UInt8.self)
  }

  /// Remembers that `value` is written as `string`.
  func learn(nameOf value: UInt8, _ string: UnsafeRawBufferPointer) {
    unsafe put(value, string, byValue, Int(value))
  }

  /// Remembers that `string` is read as `value`.
  func learn(valueOf string: UnsafeRawBufferPointer, _ value: UInt8) {
    unsafe put(value, string, byName, slot(string))
  }

  private func slot(_ string: UnsafeRawBufferPointer) -> Int {
    guard let first = unsafe string.first, let last = unsafe string.last else { return 0 }
    return (string.count &+ Int(first) &* 31 &+ Int(last) &* 7) & (Self.slots - 1)
  }

  private func entry(_ table: UnsafeMutablePointer<Atomic<UInt>>, _ index: Int) -> UnsafeMutableRawPointer? {
    unsafe UnsafeMutableRawPointer(bitPattern: table[index].load(ordering: .acquiring))
  }

  private func name(_ entry: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(start: entry + 8, count: Int(entry.load(fromByteOffset: 4, as: UInt32.self)))
  }

  private func put(
    _ value: UInt8, _ string: UnsafeRawBufferPointer, _ table: UnsafeMutablePointer<Atomic<UInt>>, _ index: Int
  ) {
    guard string.count <= Self.longest, unsafe entry(table, index) == nil else { return }
    let entry = UnsafeMutableRawPointer.allocate(byteCount: 8 + string.count, alignment: 8)
    unsafe entry.storeBytes(of: value, as: UInt8.self)
    unsafe entry.storeBytes(of: UInt32(string.count), toByteOffset: 4, as: UInt32.self)
    unsafe UnsafeMutableRawBufferPointer(start: entry + 8, count: string.count).copyMemory(from: string)
    let (taken, _) = unsafe table[index].compareExchange(
      expected: 0, desired: UInt(bitPattern: entry), ordering: .acquiringAndReleasing)
    if !taken { unsafe entry.deallocate() }
  }
}
