public import Records

extension KeyedStream where Element: Record {
  /// The `limit` records of each key with the highest scores, best first; of equal scores the earlier is better. Emits
  /// them, with the key, whenever they change.
  ///
  /// A record that has fallen out does not come back.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store; at most `limit` records for each key, as one value.
  ///   - score: must depend on the record alone; numbers that are not a number count as the lowest there are where they
  ///     compare so.
  @inlinable
  public func top<Score: Comparable>(
    _ limit: Int, _ name: String, onError: ErrorPolicy = .fail, by score: @escaping @Sendable (Element) throws -> Score
  ) -> Stream<[Element]> {
    top(limit, name, onError: onError, by: score, isSame: nil)
  }

  /// As `top(_:_:by:)`, with one place for each identity: a record takes the place of an earlier one with the same
  /// `id`, whatever its score. What had fallen out before does not come back when a score falls.
  @inlinable
  public func top<Score: Comparable, ID: Equatable & Sendable>(
    _ limit: Int, _ name: String, onError: ErrorPolicy = .fail, by score: @escaping @Sendable (Element) throws -> Score,
    uniqueBy id: @escaping @Sendable (Element) -> ID
  ) -> Stream<[Element]> {
    top(limit, name, onError: onError, by: score) { id($0) == id($1) }
  }

  @inlinable
  func top<Score: Comparable>(
    _ limit: Int, _ name: String, onError: ErrorPolicy, by score: @escaping @Sendable (Element) throws -> Score,
    isSame: (@Sendable (Element, Element) -> Bool)?
  ) -> Stream<[Element]> {
    if limit < 1 {
      flow.refuse(DataflowError(.invalidArgument, name, "the number of places, \(limit), is not positive"))
    }
    let description = OperatorDescription(
      kind: "top", name: name, keepsKeys: true, isTerminal: true,
      states: [StateDeclaration(name, StateDeclaration.Kind(rawValue: "packed"))], sides: onError.sides)
    return flow.addOperator(description, after: stream, as: [Element].self) { context, output in
      let backing = StateTableBacking(
        packed: try context.stateTable(name, of: Element.self), snapshot: context.snapshot)
      let state = context.keyedState(over: backing)
      return Receiver(
        batch: { batch in
          context.counters.received(batch.count)
          var collector = Collector<[Element]>(capacity: 0)
          do {
            try state.update(batch, onError, context) { index, value in
              let element = batch[index]
              let own = try score(element)
              var ranking = value.take() ?? []
              defer { value = ranking }
              var changed = false
              if let isSame, let place = ranking.firstIndex(where: { isSame($0, element) }) {
                ranking.remove(at: place)
                changed = true
              }
              // The first place whose score is lower.
              var (low, high) = (0, ranking.count)
              while low < high {
                let middle = (low + high) / 2
                if try score(ranking[middle]) < own { high = middle } else { low = middle + 1 }
              }
              if low < limit {
                ranking.insert(element, at: low)
                if ranking.count > limit { ranking.removeLast() }
                changed = true
              }
              if changed {
                let first = collector.begin(at: batch.timestamp(index))
                collector.append(ranking)
                collector.takeKey(of: batch.keys, at: index, from: first)
              }
            }
          } catch { throw context.failure(error) }
          let result = collector.finish()
          context.counters.emitted(result.count)
          if !result.isEmpty { try output.batch(result) }
        }, watermark: output.watermark)
    }
  }
}
