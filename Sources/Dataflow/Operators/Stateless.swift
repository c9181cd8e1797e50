extension Stream {
  /// Each record turned into another; timestamp and key stay.
  ///
  /// - Parameters:
  ///   - name: for metrics and messages.
  ///   - onError: what becomes of a record on which `transform` throws.
  @inlinable
  public func map<Output: Sendable>(
    _ name: String? = nil, onError: ErrorPolicy = .fail,
    _ transform: @escaping @Sendable (Element) throws -> Output
  ) -> Stream<Output> {
    transformed("map", name, onError) { element, output in output.append(try transform(element)) }
  }

  /// The records for which `isIncluded` holds.
  @inlinable
  public func filter(
    _ name: String? = nil, onError: ErrorPolicy = .fail,
    _ isIncluded: @escaping @Sendable (Element) throws -> Bool
  ) -> Stream<Element> {
    transformed("filter", name, onError) { element, output in
      if try isIncluded(element) { output.append(element) }
    }
  }

  /// Each record turned into another, without those that become nil.
  @inlinable
  public func compactMap<Output: Sendable>(
    _ name: String? = nil, onError: ErrorPolicy = .fail,
    _ transform: @escaping @Sendable (Element) throws -> Output?
  ) -> Stream<Output> {
    transformed("compactMap", name, onError) { element, output in
      if let result = try transform(element) { output.append(result) }
    }
  }

  /// Each record turned into any number of others, which take its timestamp and key.
  @inlinable
  public func flatMap<Output: Sendable>(
    _ name: String? = nil, onError: ErrorPolicy = .fail,
    _ transform: @escaping @Sendable (Element) throws -> [Output]
  ) -> Stream<Output> {
    transformed("flatMap", name, onError) { element, output in
      for result in try transform(element) { output.append(result) }
    }
  }

  /// Each record turned into what `body` appends for it, without an array in between.
  @inlinable
  public func expand<Output: Sendable>(
    _ name: String? = nil, into _: Output.Type = Output.self, onError: ErrorPolicy = .fail,
    _ body: @escaping @Sendable (borrowing Element, inout Collector<Output>) throws -> Void
  ) -> Stream<Output> {
    transformed("expand", name, onError, body)
  }

  /// The common body: `body` appends what becomes of a record; if it throws, what it appended is taken back.
  @inlinable
  func transformed<Output: Sendable>(
    _ kind: String, _ name: String?, _ onError: ErrorPolicy,
    _ body: @escaping @Sendable (borrowing Element, inout Collector<Output>) throws -> Void
  ) -> Stream<Output> {
    let description = OperatorDescription(kind: kind, name: name, keepsKeys: true, sides: onError.sides)
    return flow.addOperator(description, after: self, as: Output.self) { context, output in
      Receiver(
        batch: { batch in
          let count = batch.count
          context.counters.received(count)
          let isKeyed = batch.isKeyed
          var collector = Collector<Output>(capacity: count, keys: isKeyed ? count : 0)
          for index in 0..<count {
            let first = collector.begin(at: batch.timestamp(index))
            do {
              try body(batch[index], &collector)
              if isKeyed { collector.takeKey(of: batch.keys, at: index, from: first) }
            } catch {
              collector.undo(to: first)
              try onError.handle(error, context, batch, index)
            }
          }
          let result = collector.finish()
          let made = result.count
          context.counters.emitted(made)
          if made > 0 { try output.batch(result) }
        }, watermark: output.watermark)
    }
  }
}
