public import Bytes

/// What the closures of an operator with declared parts work with besides them: key, time, timers, the way out.
public typealias CallContext<Output: Sendable> = ProcessContext<Never, Output>

extension KeyedStream {
  /// The general operator: states of several kinds for each key, timers, side outputs, any number of records out.
  ///
  /// A key's records come in order, its timers in the order of their times. Everything that a call did (states, timers,
  /// records to any output) counts as done when it returns; if it throws, under any policy but *fail*, nothing of it
  /// was.
  ///
  /// - Parameters:
  ///   - name: unique in the job; the states are found by it and by their own names.
  ///   - parts: declares states and side outputs (see `OperatorParts`); its result is what the closures get.
  ///   - onError: what becomes of a record, or a timer, on which a closure throws.
  ///   - onRecord: called for each record.
  ///   - onTimer: called for each timer whose time the watermark has reached, before the watermark goes on downstream.
  ///   - onProcessingTimer: called for each timer whose time the clock has reached, once, some time after it: a job
  ///     that did not run then fires it when it runs again, and a drain fires what still waits.
  @inlinable
  public func process<Parts, Output: Sendable>(
    _ name: String, with parts: @escaping @Sendable (OperatorParts) -> Parts,
    emitting _: Output.Type = Output.self, onError: ErrorPolicy = .fail,
    onRecord: @escaping @Sendable (Element, Parts, inout CallContext<Output>) throws -> Void,
    onTimer: @escaping @Sendable (Timestamp, Parts, inout CallContext<Output>) throws -> Void = { _, _, _ in },
    onProcessingTimer: (@Sendable (Timestamp, Parts, inout CallContext<Output>) throws -> Void)? = nil
  ) -> Stream<Output> {
    let declared = OperatorParts(name, nil, isUndoable: false)
    _ = parts(declared)
    let description = OperatorDescription(
      kind: "process", name: name, keepsKeys: true, isTerminal: true,
      states: declared.states + StateDeclaration.timers(of: name, processing: onProcessingTimer != nil),
      sides: declared.sides + onError.sides)
    return flow.addOperator(description, after: stream, as: Output.self) { context, output in
      let own = OperatorParts(name, context, isUndoable: onError != .fail)
      let states = parts(own)
      try own.check()
      let timers = try context.timers(name, processing: onProcessingTimer != nil)
      return context.calls(
        output, timers, state: Never.self,
        onBatch: { batch, call in
          try own.run(
            batch.keys, timers, &call, at: { batch.timestamp($0) },
            failed: { try onError.handle($1, context, batch, $0) }
          ) { index, call in try onRecord(batch[index], states, &call) }
        },
        onDue: { kind, time, keys, call in
          try own.run(
            keys, timers, &call, at: { _ in time }, failed: { try onError.handle($1, context, keys, $0, at: time) }
          ) { _, call in
            if kind == .event { try onTimer(time, states, &call) } else { try onProcessingTimer?(time, states, &call) }
          }
        })
    }
  }
}

extension OperatorParts {
  /// Makes a call for each of `keys`; what one that throws has done is taken back, then `failed` decides.
  @inlinable
  func run<Output: Sendable>(
    _ keys: borrowing KeyColumn, _ timers: OperatorTimers, _ call: inout CallContext<Output>,
    at time: (Int) -> Timestamp, failed: (Int, any Error) throws -> Void,
    _ body: (Int, inout CallContext<Output>) throws -> Void
  ) throws {
    unsafe cursor.watermark = call.watermark
    unsafe cursor.now = call.processingTime
    let count = keys.count
    try unsafe withUnsafePointer(to: keys) { column in
      unsafe call.keys = column
      unsafe cursor.keys = column
      defer { unsafe cursor.keys = nil }
      var nothing: Never?
      var start = 0
      while start < count {
        let end = min(start &+ 128, count)
        try prepare(keys, start..<end)
        for index in start..<end {
          let time = time(index)
          cursor.begin(index, at: time)
          do {
            try call.run(index, at: time, &nothing) { try body(index, &$0) }
          } catch {
            undo()
            try failed(index, error)
          }
          if !call.requests.isEmpty { timers.gather(call.requests, keys, at: index) }
        }
        start = end
      }
    }
  }
}
