public import Records

/// How records are folded into an accumulator, accumulators into one, and what is made of it in the end.
///
/// `add` and `merge` must agree: merging the accumulators of two halves is as adding all records to one.
public struct Aggregation<Element, Accumulator: Record, Result>: Sendable {
  public var initial: Accumulator
  public var add: @Sendable (inout Accumulator, Element) throws -> Void
  public var merge: @Sendable (inout Accumulator, Accumulator) throws -> Void
  public var result: @Sendable (Accumulator) throws -> Result

  public init(
    initial: Accumulator, add: @escaping @Sendable (inout Accumulator, Element) throws -> Void,
    merge: @escaping @Sendable (inout Accumulator, Accumulator) throws -> Void,
    result: @escaping @Sendable (Accumulator) throws -> Result
  ) {
    self.initial = initial
    self.add = add
    self.merge = merge
    self.result = result
  }
}

/// An accumulator for each key: a part of an operator, declared with `OperatorParts.aggregating` or `reducing`.
public final class AggregatingState<Element, Accumulator: Record, Result> {
  /// The accumulator itself.
  public let accumulator: ValueState<Accumulator>
  @usableFromInline let aggregation: Aggregation<Element, Accumulator, Result>

  @usableFromInline
  init(_ accumulator: ValueState<Accumulator>, _ aggregation: Aggregation<Element, Accumulator, Result>) {
    self.accumulator = accumulator
    self.aggregation = aggregation
  }

  /// Adds a record to the key's accumulator.
  @inlinable
  public func add(_ element: Element) throws {
    try accumulator.update(default: aggregation.initial) { try aggregation.add(&$0, element) }
  }

  /// Merges another accumulator into the key's.
  @inlinable
  public func merge(_ other: Accumulator) throws {
    try accumulator.update(default: aggregation.initial) { try aggregation.merge(&$0, other) }
  }

  /// What is made of the key's accumulator; nil if nothing was added.
  @inlinable
  public func result() throws -> Result? { try accumulator.value.map { try aggregation.result($0) } }

  /// Begins anew for the key.
  @inlinable
  public func clear() { accumulator.value = nil }
}

/// A value for each key that others are joined to: a part of an operator, declared with `OperatorParts.reducing`.
public final class ReducingState<Value: Record> {
  @usableFromInline let state: ValueState<Value>
  @usableFromInline let combine: @Sendable (Value, Value) throws -> Value

  @usableFromInline
  init(_ state: ValueState<Value>, _ combine: @escaping @Sendable (Value, Value) throws -> Value) {
    self.state = state
    self.combine = combine
  }

  /// Joins `value` to the key's.
  @inlinable
  public func add(_ value: Value) throws {
    try state.update { present in
      if let soFar = present { present = try combine(soFar, value) } else { present = value }
    }
  }

  /// The key's value; nil if nothing was added.
  @inlinable
  public var value: Value? { state.value }

  /// Begins anew for the key.
  @inlinable
  public func clear() { state.value = nil }
}
