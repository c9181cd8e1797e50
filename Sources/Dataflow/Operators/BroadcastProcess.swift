public import Bytes
public import Records

/// A keyed stream and a broadcast one that meet at one operator.
public struct BroadcastConnectedStream<Element: Sendable, Rule: Sendable> {
  @usableFromInline let both: Stream<Either<Element, Rule>>

  @usableFromInline
  init(_ both: Stream<Either<Element, Rule>>) { self.both = both }
}

extension KeyedStream {
  /// This stream and, on every subtask, all of `rules`.
  @inlinable
  public func connect<Rule: Sendable>(_ rules: BroadcastStream<Rule>) -> BroadcastConnectedStream<Element, Rule> {
    let left = stream.wrapped("connect") { Either<Element, Rule>.left($0) }
    let holdsTimeBack = rules.holdsTimeBack
    let right = rules.stream.wrapped(
      "connect", watermarks: { holdsTimeBack ? $0 : Watermark(.min, isIdle: true) },
      wrap: { Either<Element, Rule>.right($0) })
    return BroadcastConnectedStream(left.union(right))
  }
}

extension BroadcastConnectedStream {
  /// As `KeyedStream.process`, with a map that every broadcast record may change and every keyed record may read.
  ///
  /// Each subtask gets the broadcast records in the same order and keeps the map for itself, so it is the same on all;
  /// when it changes between two keyed records is not fixed but by checkpoints: after a recovery each keyed record sees
  /// at least what it saw before.
  ///
  /// - Parameters:
  ///   - rules: the map's name (its state is `name/rules`) and its types. It is held in memory on each subtask.
  ///   - onRuleError: what becomes of a broadcast record on which `onRule` throws; reported by one subtask.
  ///   - onRecord: called for each keyed record, with the map to read.
  ///   - onRule: called for each broadcast record on every subtask; it must do the same on all.
  @inlinable
  public func process<Key: KeyEncodable & Hashable, Value: Record, Parts, Output: Sendable>(
    _ name: String, rules rulesName: String, _: Key.Type, _: Value.Type,
    with parts: @escaping @Sendable (OperatorParts) -> Parts, emitting _: Output.Type = Output.self,
    onError: ErrorPolicy<Element> = .fail, onRuleError: ErrorPolicy<Rule> = .fail,
    onRecord:
      @escaping @Sendable (Element, Parts, BroadcastState<Key, Value>, inout CallContext<Output>) throws -> Void,
    onRule: @escaping @Sendable (Rule, BroadcastChanges<Key, Value>) throws -> Void,
    onTimer:
      @escaping @Sendable (
        Timestamp, Parts, BroadcastState<Key, Value>, inout CallContext<Output>
      ) throws -> Void = { _, _, _, _ in }
  ) -> Stream<Output> {
    let declared = OperatorParts(name, nil, isUndoable: false)
    _ = parts(declared)
    let stateName = name + "/" + rulesName
    let description = OperatorDescription(
      kind: "process", name: name, keepsKeys: true, isTerminal: true,
      states: declared.states + [StateDeclaration(stateName, .broadcast)]
        + StateDeclaration.timers(of: name, processing: false),
      sides: declared.sides + onError.sides + onRuleError.sides)
    return both.flow.addOperator(description, after: both, as: Output.self) { context, output in
      let own = OperatorParts(name, context, isUndoable: onError != .fail)
      let states = parts(own)
      try own.check()
      let rules = try context.broadcastState(stateName, Key.self, Value.self)
      let changes = BroadcastChanges(rules)
      let timers = try context.timers(name, processing: false)
      let keyed: Receiver<Either<Element, Rule>> = context.calls(
        output, timers, state: Never.self,
        onBatch: { batch, call in
          try own.run(
            batch.keys, timers, &call, at: { batch.timestamp($0) },
            failed: { index, error in
              try onError.handle(
                error, context, element: { batch[index].left }, batch.keys, index, at: batch.timestamp(index))
            }
          ) { index, call in
            if case .left(let element) = batch[index] { try onRecord(element, states, rules, &call) }
          }
        },
        onDue: { _, time, keys, call in
          try own.run(
            keys, timers, &call, at: { _ in time }, failed: { try onError.handle($1, context, keys, $0, at: time) }
          ) { _, call in try onTimer(time, states, rules, &call) }
        })
      return Receiver(
        batch: { batch in
          // A batch comes from one side.
          guard batch.count > 0, case .right = batch[0] else { return try keyed.batch(batch) }
          context.counters.received(batch.count)
          for index in 0..<batch.count {
            guard case .right(let rule) = batch[index] else { continue }
            do {
              try onRule(rule, changes)
              try rules.keep()
            } catch {
              rules.undo()
              if onRuleError == .fail || context.subtask == 0 {
                try onRuleError.handle(
                  error, context, element: { rule }, batch.keys, index, at: batch.timestamp(index))
              }
            }
          }
        }, watermark: keyed.watermark)
    }
  }
}

extension Either {
  @usableFromInline var left: Left? { if case .left(let value) = self { value } else { nil } }
}
