public import Records

extension KeyedStream {
  /// Folds each key's records, in order, into one value that lives in the store under `name`. Emits, with the record's
  /// timestamp and key, each value that a record led to.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store; unique in the job, never to change without `RunOptions.renaming`.
  ///   - initial: what a key begins with.
  ///   - onError: what becomes of a record on which `update` throws; its change is undone.
  @inlinable
  public func fold<Value: Record>(
    _ name: String, initial: Value, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void
  ) -> Stream<Value> {
    fold(
      OperatorDescription(
        kind: "fold", name: name, keepsKeys: true, isTerminal: true, states: [StateDeclaration(name, .value)]),
      backing: { context in try context.stateBacking(name, of: Value.self) }, onError: onError,
      { _, _, value, element in
        if value == nil { value = initial }
        try update(&value!, element)
      })
  }

  /// As `fold(_:initial:)` with an initial value that knows the key.
  @inlinable
  public func fold<Key: KeyEncodable, Value: Record>(
    _ name: String, initial: @escaping @Sendable (Key) throws -> Value, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void
  ) -> Stream<Value> {
    fold(
      OperatorDescription(
        kind: "fold", name: name, keepsKeys: true, isTerminal: true, states: [StateDeclaration(name, .value)]),
      backing: { context in try context.stateBacking(name, of: Value.self) }, onError: onError,
      { keys, index, value, element in
        if value == nil { value = try initial(keys.decoded(Key.self, at: index)) }
        try update(&value!, element)
      })
  }

  /// Joins each key's records two by two into one. Emits what each record led to.
  @inlinable
  public func reduce(
    _ name: String, onError: ErrorPolicy = .fail,
    _ combine: @escaping @Sendable (_ soFar: Element, _ next: Element) throws -> Element
  ) -> Stream<Element> where Element: Record {
    fold(
      OperatorDescription(
        kind: "reduce", name: name, keepsKeys: true, isTerminal: true, states: [StateDeclaration(name, .value)]),
      backing: { context in try context.stateBacking(name, of: Element.self) }, onError: onError,
      { _, _, value, element in
        if let soFar = value { value = try combine(soFar, element) } else { value = element }
      })
  }

  /// The fold beneath: over state that may lie anywhere, as in a view.
  ///
  /// - Parameters:
  ///   - description: name, states and what it owns.
  ///   - backing: called once per subtask and run: where values are found and how changes are sealed.
  ///   - update: changes the value of the record's key: the key is number `index` of `keys`; nil is absent, and making
  ///     it nil deletes. Under the policy *skip* what it did before throwing is undone.
  @inlinable
  public func fold<Value: Sendable>(
    _ description: OperatorDescription,
    backing: @escaping @Sendable (OperatorContext) throws -> any KeyedBacking<Value>, onError: ErrorPolicy = .fail,
    _ update:
      @escaping @Sendable (_ keys: borrowing KeyColumn, _ index: Int, _ value: inout Value?, _ element: Element) throws
      -> Void
  ) -> Stream<Value> {
    var description = description
    description.sides += onError.sides
    return flow.addOperator(description, after: stream, as: Value.self) { context, output in
      let state = context.keyedState(over: try backing(context))
      let watermark = { (watermark: Watermark) in
        context.counters.watermark(watermark.time)
        try output.watermark(watermark)
      }
      if output.isDiscarding && onError == .fail {
        return Receiver(
          batch: { batch in
            context.counters.received(batch.count)
            do {
              try state.update(batch.keys, 0..<batch.count) { index, value in
                try update(batch.keys, index, &value, batch[index])
              }
            } catch { throw context.failure(error) }
          }, watermark: watermark)
      }
      return Receiver(
        batch: { batch in
          context.counters.received(batch.count)
          var collector = Collector<Value>(capacity: batch.count, keys: batch.count)
          do {
            try state.update(batch, onError, context) { index, value in
              try update(batch.keys, index, &value, batch[index])
              if let result = value {
                collector.append(result, at: batch.timestamp(index))
                collector.batch.keys.append(from: batch.keys, at: index)
              }
            }
          } catch { throw context.failure(error) }
          let result = collector.finish()
          context.counters.emitted(result.count)
          if !result.isEmpty { try output.batch(result) }
        }, watermark: watermark)
    }
  }
}

extension KeyColumn {
  /// The value that key `index` is the canonical encoding of.
  @inlinable
  public func decoded<Key: KeyEncodable>(_: Key.Type = Key.self, at index: Int) throws -> Key {
    let key = unsafe withBytes(at: index) { unsafe Key.decodeKey($0) }
    guard let key else { throw KeyColumn.undecodable(Key.self) }
    return key
  }

  @usableFromInline
  static func undecodable(_ type: Any.Type) -> DataflowError {
    DataflowError(.operatorFailed, "key", "its bytes are no \(type); key the stream by a value of this type")
  }
}
