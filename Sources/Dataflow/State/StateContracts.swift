public import LMDB

/// One participant's sealed share of an epoch: immutable, waiting to be written by the state file's writer thread.
public protocol SealedPart: Sendable {
  /// Writes the share into the checkpoint's transaction. Runs on the writer thread; called again, with the same
  /// outcome, when the transaction failed and is retried.
  func write(in transaction: borrowing WriteTransaction, checkpoint: UInt64) throws

  /// Called once on the writer thread after the transaction that holds the share is durable.
  func committed(checkpoint: UInt64)
}

/// Where a `KeyedState` finds what it does not hold, and what turns its changes into a `SealedPart`.
///
/// Used by one subtask's thread only. `load` is called per miss and `seal` per epoch: never per record.
public protocol KeyedBacking<Value>: AnyObject {
  associatedtype Value

  /// The committed value of `key`, or nil. `key` is the key's bytes and, if any, its namespace's; `hash` tells its key
  /// group.
  ///
  /// What it returns must include every commit of this state of which `renew` was told.
  func load(_ key: UnsafeRawBufferPointer, hash: UInt64) throws -> Value?

  /// Later loads see the newest commit. Called after commits of this state, before what they contain is evicted.
  func renew() throws

  /// Encodes the changes; the values are read during the call only. Sorting and writing happen in the part's `write`.
  func seal(_ changes: StateChanges<Value>) throws -> any SealedPart
}

extension SealedPart {
  public func committed(checkpoint: UInt64) {}
}
