public import Bytes

/// Where an operator's call stands: which key and when. Shared by the operator's parts, moved by its loop.
@usableFromInline
@safe
final class CallCursor {
  // Invariant: `keys` points to a column of at least `index` + 1 keys while a call runs, and is nil otherwise. One
  // thread uses it; nobody holds a reference into it beyond a statement.
  @usableFromInline @exclusivity(unchecked) var keys: UnsafePointer<KeyColumn>?
  @usableFromInline @exclusivity(unchecked) var index = 0
  /// Grows by one with each call: what a part did in this one is told by it.
  @usableFromInline @exclusivity(unchecked) var call: UInt64 = 0
  @usableFromInline @exclusivity(unchecked) var time = Timestamp.min
  @usableFromInline @exclusivity(unchecked) var watermark = Timestamp.min
  @usableFromInline @exclusivity(unchecked) var now = Timestamp.min

  @usableFromInline init() { unsafe keys = nil }

  /// Begins a call for key `index` at `time`.
  @inlinable
  func begin(_ index: Int, at time: Timestamp) {
    unsafe self.index = index
    unsafe self.time = time
    unsafe call &+= 1
  }
}

/// A part of an operator that can take back what a call did to it, and be got ready for many calls at once.
@usableFromInline
protocol CallPart: AnyObject {
  /// The next calls are for `range` of `keys`, at most 128.
  func prepare(_ keys: borrowing KeyColumn, _ range: Range<Int>) throws
  /// Call `call` failed.
  func undo(_ call: UInt64)
}
