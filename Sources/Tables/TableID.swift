/// A table's number in its state file. Never reused, so that what a crash or a long reader left behind cannot be
/// mistaken for something newer.
public struct TableID: Hashable, Comparable, Sendable {
  public let value: UInt32

  public init(value: UInt32) { self.value = value }

  public static func < (left: TableID, right: TableID) -> Bool { left.value < right.value }
}

/// A change to one key: a payload, or a tombstone. With the default format the payload is the key's value.
///
/// Points into the file's map or into a buffer: valid as long as the transaction, or the call, that it came from.
@safe
public struct Change {
  public let key: UnsafeRawBufferPointer
  public let payload: UnsafeRawBufferPointer
  public let isTombstone: Bool

  @inlinable
  public init(key: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, isTombstone: Bool) {
    unsafe self.key = unsafe key
    unsafe self.payload = unsafe payload
    self.isTombstone = isTombstone
  }

  /// The payload, or nil for a tombstone.
  @inlinable public var value: UnsafeRawBufferPointer? { unsafe isTombstone ? nil : payload }
}
