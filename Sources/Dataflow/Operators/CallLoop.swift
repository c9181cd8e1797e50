public import Bytes

extension OperatorContext {
  /// The receiver of an operator whose closures are called key by key and set timers.
  ///
  /// - Parameters:
  ///   - onBatch: makes the calls for a batch.
  ///   - onDue: makes the calls for keys whose timers for one time are due.
  @inlinable
  func calls<Element: Sendable, State, Output: Sendable>(
    _ output: Receiver<Output>, _ timers: OperatorTimers, state _: State.Type = State.self,
    onBatch: @escaping (borrowing Batch<Element>, inout ProcessContext<State, Output>) throws -> Void,
    onDue:
      @escaping (
        TimerKind, Timestamp, borrowing KeyColumn, inout ProcessContext<State, Output>
      ) throws -> Void
  ) -> Receiver<Element> {
    let time = eventTime
    let finish = { [counters] (results: consuming Batch<Output>) throws in
      counters.emitted(results.count)
      if !results.isEmpty { try output.batch(results) }
    }
    if let processing = timers.processing {
      join(
        ProcessingTimerWorker(processing, timers.clock) { [self] now in
          var call = ProcessContext<State, Output>(watermark: time.current, timers, capacity: 0)
          try fire(.processing, timers, now, &call, isDraining: false, onDue)
          // One of event time that was set for a time that has passed.
          try fire(.event, timers, time.current, &call, isDraining: false, onDue)
          try finish(call.finish())
          try flushSides()
        })
    }
    return Receiver(
      batch: { [self] batch in
        let count = batch.count
        counters.received(count)
        var call = ProcessContext<State, Output>(watermark: time.current, timers, capacity: count)
        do {
          try onBatch(batch, &call)
          try timers.apply(isDraining: false)
        } catch { throw failure(error) }
        // A timer for a time that has passed does not wait for the next watermark.
        try fire(.event, timers, time.current, &call, isDraining: false, onDue)
        try finish(call.finish())
      },
      watermark: { [self] watermark in
        if time.advance(to: watermark) {
          counters.watermark(time.current)
          let isDraining = time.current == .max
          var call = ProcessContext<State, Output>(watermark: time.current, timers, capacity: 0)
          try fire(.event, timers, time.current, &call, isDraining: isDraining, onDue)
          // Nothing comes after: what waits for the clock would be lost.
          if isDraining { try fire(.processing, timers, .max, &call, isDraining: true, onDue) }
          try finish(call.finish())
        }
        try output.watermark(watermark)
      })
  }

  /// Calls `onDue` for every timer due at `limit`, and for those that are set meanwhile and due.
  @inlinable
  func fire<State, Output: Sendable>(
    _ kind: TimerKind, _ timers: OperatorTimers, _ limit: Timestamp, _ call: inout ProcessContext<State, Output>,
    isDraining: Bool,
    _ onDue: (TimerKind, Timestamp, borrowing KeyColumn, inout ProcessContext<State, Output>) throws -> Void
  ) throws {
    guard let waiting = kind == .event ? timers.event : timers.processing else { return }
    do {
      while let due = try waiting.next(dueAt: limit) {
        try onDue(kind, due.time, due.keys.keys, &call)
        try timers.apply(isDraining: isDraining)
      }
    } catch { throw failure(error) }
  }

  /// The timers kept as the state called `name`, those of the last checkpoint included.
  @usableFromInline
  func eventTimers(_ name: String) throws -> EventTimers {
    let state = keyedState(over: try stateBacking(name, of: UInt8.self))
    return EventTimers(state, try dueIndex(of: name, width: KeyColumn.timeWidth), counters)
  }
}
