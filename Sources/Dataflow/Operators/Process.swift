public import Bytes
public import Records

extension KeyedStream {
  /// The general operator: a state for each key, event-time timers, any number of records out.
  ///
  /// A key's records come in order, its timers in the order of their times. Everything that a call did (state, timers,
  /// emitted records) counts as done when it returns; if it throws, under the policy *skip*, nothing of it was.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store; timers are kept as `name/timers`.
  ///   - onError: what becomes of a record, or a timer, on which a closure throws.
  ///   - onRecord: called for each record.
  ///   - onTimer: called for each timer whose time the watermark has reached, before the watermark goes on downstream.
  @inlinable
  public func process<State: Record, Output: Sendable>(
    _ name: String, state _: State.Type, emitting _: Output.Type = Output.self, onError: ErrorPolicy = .fail,
    onRecord: @escaping @Sendable (Element, inout ProcessContext<State, Output>) throws -> Void,
    onTimer: @escaping @Sendable (Timestamp, inout ProcessContext<State, Output>) throws -> Void = { _, _ in }
  ) -> Stream<Output> {
    let timerName = name + "/timers"
    let description = OperatorDescription(
      kind: "process", name: name, keepsKeys: true, isTerminal: true,
      states: [StateDeclaration(name, .value), StateDeclaration(timerName, .timers)], sides: onError.sides)
    return flow.addOperator(description, after: stream, as: Output.self) { context, output in
      let state = context.keyedState(over: try context.stateBacking(name, of: State.self))
      let timers = try context.eventTimers(timerName)
      let time = context.eventTime
      let finish = { (results: consuming Batch<Output>) throws in
        context.counters.emitted(results.count)
        if !results.isEmpty { try output.batch(results) }
      }
      return Receiver(
        batch: { batch in
          let count = batch.count
          context.counters.received(count)
          var call = ProcessContext<State, Output>(watermark: time.current, capacity: count)
          do {
            try unsafe withUnsafePointer(to: batch.keys) { keys in
              unsafe call.keys = keys
              try state.update(batch, onError, context) { index, value in
                try call.run(index, at: batch.timestamp(index), &value) { try onRecord(batch[index], &$0) }
                if !call.requests.isEmpty { timers.gather(call.requests, batch.keys, at: index) }
              }
            }
            try timers.apply(isDraining: false)
          } catch { throw context.failure(error) }
          // A timer for a time that has passed does not wait for the next watermark.
          try context.fire(timers, state, time.current, &call, onError, onTimer)
          try finish(call.finish())
        },
        watermark: { watermark in
          if time.advance(to: watermark) {
            context.counters.watermark(time.current)
            var call = ProcessContext<State, Output>(watermark: time.current, capacity: 0)
            try context.fire(timers, state, time.current, &call, onError, onTimer)
            try finish(call.finish())
          }
          try output.watermark(watermark)
        })
    }
  }
}

extension ProcessContext {
  @usableFromInline
  consuming func finish() -> Batch<Output> { output.finish() }
}

extension OperatorContext {
  /// Calls `onTimer` for every timer due at `watermark`, and for those that are set meanwhile and due.
  @inlinable
  func fire<Element: Sendable, State, Output: Sendable>(
    _ timers: EventTimers, _ state: KeyedState<State>, _ watermark: Timestamp,
    _ call: inout ProcessContext<State, Output>, _ onError: ErrorPolicy<Element>,
    _ onTimer: (Timestamp, inout ProcessContext<State, Output>) throws -> Void
  ) throws {
    do {
      while let due = try timers.next(dueAt: watermark) {
        try unsafe withUnsafePointer(to: due.keys.keys) { keys in
          unsafe call.keys = keys
          try state.update(due.keys.keys, 0..<due.keys.keys.count, onError, self, at: due.time) { index, value in
            try call.run(index, at: due.time, &value) { try onTimer(due.time, &$0) }
            if !call.requests.isEmpty { timers.gather(call.requests, due.keys.keys, at: index) }
          }
        }
        try timers.apply(isDraining: watermark == .max)
      }
    } catch { throw failure(error) }
  }

  /// The timers kept as the state called `name`, those of the last checkpoint included.
  @usableFromInline
  func eventTimers(_ name: String) throws -> EventTimers {
    let index = TimeIndex()
    try loadNamespaces(of: name, into: index)
    return EventTimers(keyedState(over: try stateBacking(name, of: UInt8.self)), index, counters)
  }
}
