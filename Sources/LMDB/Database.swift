/// A named database of an environment: a handle, valid for the environment's life, for every thread.
public struct Database: Hashable, Sendable {
  @usableFromInline let handle: UInt32

  /// The longest key LMDB takes, in bytes; the shortest is 1.
  public static let maximumKeySize = 511
}
