/// One of two: what connected streams are made of.
public enum Either<Left: Sendable, Right: Sendable>: Sendable {
  case left(Left)
  case right(Right)
}

extension Either: Equatable where Left: Equatable, Right: Equatable {}
extension Either: Hashable where Left: Hashable, Right: Hashable {}
extension Either: Encodable where Left: Encodable, Right: Encodable {}
extension Either: Decodable where Left: Decodable, Right: Decodable {}

extension Batch {
  /// The same records, each moved into what `wrap` makes of it.
  @inlinable
  consuming func mapped<Other>(_ wrap: (consuming Element) -> Other) -> Batch<Other> {
    var batch = self
    let count = batch.count
    var result = Batch<Other>(capacity: count, keys: batch.takeKeys())
    for index in 0..<count {
      let time = batch.timestamp(index)
      result.append(wrap(unsafe batch.moveOut(index)), at: time)
    }
    batch.disown()
    return result
  }
}

extension Stream {
  /// Every record wrapped, moved and not copied; `watermarks` may change what is said of time.
  @inlinable
  func wrapped<Other: Sendable>(
    _ kind: String, watermarks: @escaping @Sendable (Watermark) -> Watermark = { $0 },
    wrap: @escaping @Sendable (consuming Element) -> Other
  ) -> Stream<Other> {
    flow.addOperator(OperatorDescription(kind: kind, keepsKeys: true), after: self, as: Other.self) { context, output in
      Receiver(
        batch: { batch in
          let count = batch.count
          context.counters.received(count)
          context.counters.emitted(count)
          try output.batch(batch.mapped(wrap))
        }, watermark: { try output.watermark(watermarks($0)) })
    }
  }
}
