public import Bytes

/// Two keyed streams with records of two types that meet at one operator: a key's records of both come to one subtask
/// and share its states.
public struct ConnectedStream<Left: Sendable, Right: Sendable> {
  @usableFromInline let both: KeyedStream<Either<Left, Right>>

  @usableFromInline
  init(_ both: KeyedStream<Either<Left, Right>>) { self.both = both }
}

extension KeyedStream {
  /// This stream and `other`, to be worked on together. Both should be keyed by the same kind of key: what meets is
  /// what has the same key bytes.
  @inlinable
  public func connect<Other: Sendable>(_ other: KeyedStream<Other>) -> ConnectedStream<Element, Other> {
    let left = stream.wrapped("connect") { Either<Element, Other>.left($0) }
    let right = other.stream.wrapped("connect") { Either<Element, Other>.right($0) }
    let both = left.union(right)
    return ConnectedStream(KeyedStream<Either<Element, Other>>(flow: both.flow, node: both.node))
  }
}

extension ConnectedStream {
  /// As `KeyedStream.process`, with one closure for each side. Records of one side come in their order; between the
  /// sides there is none but that of event time, through timers. Its watermark is the lower of the two.
  @inlinable
  public func process<Parts, Output: Sendable>(
    _ name: String, with parts: @escaping @Sendable (OperatorParts) -> Parts,
    emitting _: Output.Type = Output.self, onError: ErrorPolicy<Either<Left, Right>> = .fail,
    onLeft: @escaping @Sendable (Left, Parts, inout CallContext<Output>) throws -> Void,
    onRight: @escaping @Sendable (Right, Parts, inout CallContext<Output>) throws -> Void,
    onTimer: @escaping @Sendable (Timestamp, Parts, inout CallContext<Output>) throws -> Void = { _, _, _ in },
    onProcessingTimer: (@Sendable (Timestamp, Parts, inout CallContext<Output>) throws -> Void)? = nil
  ) -> Stream<Output> {
    both.process(
      name, with: parts, emitting: Output.self, onError: onError,
      onRecord: { element, parts, call in
        switch element {
        case .left(let left): try onLeft(left, parts, &call)
        case .right(let right): try onRight(right, parts, &call)
        }
      }, onTimer: onTimer, onProcessingTimer: onProcessingTimer)
  }
}
