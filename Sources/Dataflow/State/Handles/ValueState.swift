public import Records

/// One value for each key: a part of an operator, declared with `OperatorParts.value`. Of use during the operator's
/// calls only, where it stands for the key under way.
public final class ValueState<Value: Record> {
  @usableFromInline let store: AgedStore<Value>

  @usableFromInline
  init(_ store: AgedStore<Value>) { self.store = store }

  /// The key's value; nil: there is none. Setting nil deletes it.
  @inlinable
  public var value: Value? {
    get { unsafe store.value(at: store.cursor.index) }
    set { unsafe store.change(at: store.cursor.index) { $0 = newValue } }
  }

  /// Changes the key's value in place and returns what `body` does.
  @inlinable
  @inline(__always)
  @discardableResult
  public func update<R>(_ body: (inout Value?) throws -> R) rethrows -> R {
    unsafe try store.change(at: store.cursor.index, body)
  }

  /// Changes the key's value in place, which is `initial` if there is none.
  @inlinable
  @inline(__always)
  @discardableResult
  public func update<R>(
    default initial: @autoclosure () -> Value, _ body: (inout Value) throws -> R
  ) rethrows -> R {
    unsafe try store.change(at: store.cursor.index) { value in
      var present = value.take() ?? initial()
      defer { value = present }
      return try body(&present)
    }
  }
}

extension ValueState: CallPart {
  @usableFromInline
  func prepare(_ keys: borrowing KeyColumn, _ range: Range<Int>) throws { try store.state.prepare(keys, range) }
  @usableFromInline
  func undo(_ call: UInt64) { store.undo(call) }
}
