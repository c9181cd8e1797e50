internal import Bytes
internal import Synchronization
internal import Tables

/// Remembers which groups in the map were found intact, so that a get does not pay for a checksum each time.
///
/// A fixed table of marks, each mixed of address, size and stored checksum: other bytes at the same place are checked
/// anew; a collision only costs a check.
@safe
final class VerifiedGroups: Sendable {
  static let shared = VerifiedGroups()

  private static let count = 1 << 15
  // Invariant: `count` initialised atomics for the life of the process.
  private nonisolated(unsafe) let marks: UnsafeMutablePointer<Atomic<UInt64>>

  private init() {
    unsafe marks = .allocate(capacity: Self.count)
    for index in 0..<Self.count { unsafe (marks + index).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe marks.deinitialize(count: Self.count)
    unsafe marks.deallocate()
  }

  /// The group in `bytes`, checked if it was not before.
  func group(_ bytes: UnsafeRawBufferPointer) throws(ViewError) -> GroupView {
    guard bytes.count >= GroupLayout.headerSize else { return try unsafe GroupCheck.check(bytes) }
    let address = UInt64(UInt(bitPattern: bytes.baseAddress))
    let mixed = address &* 0x9E37_79B9_7F4A_7C15
    let place = Int(truncatingIfNeeded: mixed >> 49)
    let content = unsafe UInt64(bytes.little(UInt32.self, at: 4)) << 32 | UInt64(truncatingIfNeeded: bytes.count)
    let mark = (mixed ^ (content &* 0xD6E8_FEB8_6659_FD93)) | 1
    if unsafe marks[place].load(ordering: .relaxed) == mark { return unsafe GroupView(checked: bytes) }
    let group = try unsafe GroupCheck.check(bytes)
    unsafe marks[place].store(mark, ordering: .relaxed)
    return group
  }
}
