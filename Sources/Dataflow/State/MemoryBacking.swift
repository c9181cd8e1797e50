import LMDB

/// A backing that keeps nothing: state that lives as long as its `KeyedState`. For tests and jobs that opt out of
/// durable state.
public final class MemoryBacking<Value>: KeyedBacking {
  private struct Nothing: SealedPart {
    func write(in transaction: borrowing WriteTransaction, checkpoint: UInt64) {}
  }

  public init() {}

  public func load(_ key: UnsafeRawBufferPointer, hash: UInt64) -> Value? { nil }
  public func renew() {}
  public func seal(_ changes: StateChanges<Value>) -> any SealedPart {
    unsafe changes.visit { _, _, _ in }
    return Nothing()
  }
}
