extension Stream {
  /// The records spread over several streams: each goes to the first predicate that holds for it, or else to the last
  /// stream. Nobody need read all of them.
  ///
  /// ```swift
  /// let parts = orders.split { $0.amount > 1000 } _: { $0.isReturn }     // three streams
  /// ```
  ///
  /// - Returns: one stream more than there are predicates, in their order.
  @inlinable
  public func split(
    _ name: String? = nil, onError: ErrorPolicy = .fail,
    _ predicates: (@Sendable (Element) throws -> Bool)...
  ) -> [Stream<Element>] {
    let outputs = predicates.map { _ in flow.hiddenOutput(of: Element.self) }
    let description = OperatorDescription(
      kind: "split", name: name, keepsKeys: true, isTerminal: true, sides: outputs.map { SidePort($0) } + onError.sides)
    let rest = flow.addOperator(description, after: self, as: Element.self) { context, output in
      let collectors = try outputs.map { try context.collector(of: $0) }
      return Receiver(
        batch: { batch in
          let count = batch.count
          context.counters.received(count)
          let isKeyed = batch.isKeyed
          var collector = Collector<Element>(capacity: 0)
          for index in 0..<count {
            do {
              var place = 0
              while try place < predicates.count && !predicates[place](batch[index]) { place += 1 }
              if place < predicates.count {
                collectors[place].append(batch[index], at: batch.timestamp(index), key: batch.keys, index, call: 0)
              } else {
                let first = collector.begin(at: batch.timestamp(index))
                collector.append(batch[index])
                if isKeyed { collector.takeKey(of: batch.keys, at: index, from: first) }
              }
            } catch { try onError.handle(error, context, batch, index) }
          }
          context.counters.emitted(count)
          let result = collector.finish()
          if !result.isEmpty { try output.batch(result) }
        }, watermark: output.watermark)
    }
    return outputs.map { flow.from($0) } + [rest]
  }

  /// The records for which `isMatching` holds, and the others.
  @inlinable
  public func partition(
    _ name: String? = nil, onError: ErrorPolicy = .fail, by isMatching: @escaping @Sendable (Element) throws -> Bool
  ) -> (matching: Stream<Element>, others: Stream<Element>) {
    let parts = split(name, onError: onError, isMatching)
    return (parts[0], parts[1])
  }
}

extension Flow {
  /// A side output that no user's name can meet.
  @usableFromInline
  func hiddenOutput<Element: Sendable>(of _: Element.Type) -> SideOutput<Element> {
    hiddenCount += 1
    return SideOutput("\0\(hiddenCount)")
  }
}
