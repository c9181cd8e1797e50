public import Bytes
public import Records

extension KeyedStream {
  /// The general operator over one value for each key: timers, any number of records out.
  ///
  /// A key's records come in order, its timers in the order of their times. Everything that a call did (state, timers,
  /// emitted records) counts as done when it returns; if it throws, under any policy but *fail*, nothing of it was.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store; timers are kept as `name/timers` and `name/clock-timers`.
  ///   - onError: what becomes of a record, or a timer, on which a closure throws.
  ///   - onRecord: called for each record.
  ///   - onTimer: called for each timer whose time the watermark has reached, before the watermark goes on downstream.
  ///   - onProcessingTimer: called for each timer whose time the clock has reached, once, some time after it: a job
  ///     that did not run then fires it when it runs again, and a drain fires what still waits.
  @inlinable
  public func process<State: Record, Output: Sendable>(
    _ name: String, state _: State.Type, emitting _: Output.Type = Output.self, onError: ErrorPolicy = .fail,
    onRecord: @escaping @Sendable (Element, inout ProcessContext<State, Output>) throws -> Void,
    onTimer: @escaping @Sendable (Timestamp, inout ProcessContext<State, Output>) throws -> Void = { _, _ in },
    onProcessingTimer: (@Sendable (Timestamp, inout ProcessContext<State, Output>) throws -> Void)? = nil
  ) -> Stream<Output> {
    let description = OperatorDescription(
      kind: "process", name: name, keepsKeys: true, isTerminal: true,
      states: [StateDeclaration(name, .value)]
        + StateDeclaration.timers(of: name, processing: onProcessingTimer != nil), sides: onError.sides)
    return flow.addOperator(description, after: stream, as: Output.self) { context, output in
      let state = context.keyedState(over: try context.stateBacking(name, of: State.self))
      let timers = try context.timers(name, processing: onProcessingTimer != nil)
      return context.calls(
        output, timers, state: State.self,
        onBatch: { batch, call in
          try unsafe withUnsafePointer(to: batch.keys) { keys in
            unsafe call.keys = keys
            try state.update(batch, onError, context) { index, value in
              try call.run(index, at: batch.timestamp(index), &value) { try onRecord(batch[index], &$0) }
              if !call.requests.isEmpty { timers.gather(call.requests, batch.keys, at: index) }
            }
          }
        },
        onDue: { kind, time, keys, call in
          try unsafe withUnsafePointer(to: keys) { column in
            unsafe call.keys = column
            try state.update(keys, 0..<keys.count, onError, context, at: time) { index, value in
              try call.run(index, at: time, &value) {
                if kind == .event { try onTimer(time, &$0) } else { try onProcessingTimer?(time, &$0) }
              }
              if !call.requests.isEmpty { timers.gather(call.requests, keys, at: index) }
            }
          }
        })
    }
  }
}

extension ProcessContext {
  @usableFromInline
  consuming func finish() -> Batch<Output> { output.finish() }
}
