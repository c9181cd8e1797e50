public import Bytes

extension Stream {
  /// The same records; `body` sees each on its way, with its timestamp. For looking on, not for effects: after a crash
  /// records since the last checkpoint are seen again.
  @inlinable
  public func peek(
    _ name: String? = nil, _ body: @escaping @Sendable (borrowing Element, Timestamp) -> Void
  ) -> Stream<Element> {
    flow.addOperator(
      OperatorDescription(kind: "peek", name: name, keepsKeys: true), after: self, as: Element.self
    ) { context, output in
      Receiver(
        batch: { batch in
          let count = batch.count
          context.counters.received(count)
          for index in 0..<count { body(batch[index], batch.timestamp(index)) }
          context.counters.emitted(count)
          try output.batch(batch)
        }, watermark: output.watermark)
    }
  }

  /// Every `interval`-th record that a subtask sees, counted since the run began: for looking on, not the same in every
  /// run.
  @inlinable
  public func sample(every interval: Int, _ name: String? = nil) -> Stream<Element> {
    if interval < 1 {
      flow.refuse(DataflowError(.invalidArgument, name ?? "sample", "an interval of \(interval) is not positive"))
    }
    return flow.addOperator(
      OperatorDescription(kind: "sample", name: name, keepsKeys: true), after: self, as: Element.self
    ) { context, output in
      let seen = Box(0)
      return Receiver(
        batch: { batch in
          let count = batch.count
          context.counters.received(count)
          let isKeyed = batch.isKeyed
          var collector = Collector<Element>(capacity: 0)
          var next = seen.value
          for index in 0..<count {
            next += 1
            if next < interval { continue }
            next = 0
            let first = collector.begin(at: batch.timestamp(index))
            collector.append(batch[index])
            if isKeyed { collector.takeKey(of: batch.keys, at: index, from: first) }
          }
          seen.value = next
          let result = collector.finish()
          context.counters.emitted(result.count)
          if !result.isEmpty { try output.batch(result) }
        }, watermark: output.watermark)
    }
  }
}
