import Synchronization

/// Remembers which stored values were found intact, so that look-ups do not pay for a checksum each time.
///
/// A fixed table of marks, each mixed from a value's address, size and stored checksum: a rewritten page has another
/// checksum and is checked anew. Forgetting (by collision) only costs a check.
///
/// Invariant: `marks` holds `count` initialised atomics for the object's life.
@safe
final class VerifiedChecksums: @unchecked Sendable {
  private static let count = 1 << 15
  private let marks: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    unsafe marks = .allocate(capacity: Self.count)
    for index in 0..<Self.count { unsafe (marks + index).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe marks.deinitialize(count: Self.count)
    unsafe marks.deallocate()
  }

  private func mark(_ bytes: UnsafeRawBufferPointer, _ checksum: UInt32) -> (place: Int, value: UInt64) {
    let address = UInt64(UInt(bitPattern: bytes.baseAddress))
    var mixed = address &* 0x9E37_79B1_85EB_CA87
    let place = Int(truncatingIfNeeded: mixed >> 49)
    mixed ^= (UInt64(checksum) << 32 | UInt64(truncatingIfNeeded: bytes.count)) &* 0xC2B2_AE3D_27D4_EB4F
    return (place, mixed | 1)
  }

  func isKnown(_ bytes: UnsafeRawBufferPointer, _ checksum: UInt32) -> Bool {
    let (place, value) = unsafe mark(bytes, checksum)
    return unsafe marks[place].load(ordering: .relaxed) == value
  }

  func remember(_ bytes: UnsafeRawBufferPointer, _ checksum: UInt32) {
    let (place, value) = unsafe mark(bytes, checksum)
    unsafe marks[place].store(value, ordering: .relaxed)
  }
}
