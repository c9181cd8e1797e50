public import Bytes
public import Records

/// Windows that are one slice, fire once and are gone: the short way, a state for each window and key.
extension KeyedStream {
  @inlinable
  func addPlainWindows<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, _ grid: WindowGrid, initial: Value, onError: ErrorPolicy,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ value: Value) throws -> Output
  ) -> (results: Stream<Output>, late: Stream<Element>) {
    let description = OperatorDescription(
      kind: "window", name: name, keepsKeys: true, isTerminal: true, states: [StateDeclaration(name, .windows)],
      sides: onError.sides)
    return flow.addOperator(description, after: stream, as: Output.self, side: Element.self) {
      context, output, late in
      let width = grid.numberWidth
      let state = context.keyedState(over: try context.stateBacking(name, of: Value.self))
      let index = try context.dueIndex(of: name, width: width)
      let time = context.eventTime
      return Receiver(
        batch: { batch in
          context.counters.received(batch.count)
          let cursor = SliceCursor(grid, time.current, lateness: 0)
          let assigned = SliceAssignment(batch, cursor, width: width, wantsLate: !late.isDiscarding)
          try assigned.late.send(of: batch, to: late, context)
          do {
            try state.update(
              assigned.keys, 0..<assigned.keys.count, onError, context, batch, at: { assigned.position($0) }
            ) { position, value in
              let record = assigned.position(position)
              if value == nil {
                value = initial
                try update(&value!, batch[record])
                index.add(assigned.keys, at: position, width: width)
              } else {
                try update(&value!, batch[record])
              }
            }
          } catch { throw context.failure(error) }
        },
        watermark: { watermark in
          if time.advance(to: watermark) {
            context.counters.watermark(time.current)
            if let limit = grid.lastOver(at: time.current) {
              while let due = try index.next(upTo: limit) {
                let keys = due.waiting
                let firing = WindowFiring(grid.window(due.number), .onTime)
                var fired = FiredWindows<Output>(
                  capacity: keys.keys.count, at: firing.end.advanced(byMicroseconds: -1))
                try state.update(keys.keys, 0..<keys.keys.count) { position, value in
                  guard let found = value.take() else { return }
                  do {
                    try fired.append(keys.keys, at: position, width: width) { key in try result(key, firing, found) }
                  } catch {
                    let bare = KeyColumn(bareKeyOf: keys.keys, at: position, width: width)
                    try onError.handle(error, context, bare, 0, at: firing.end.advanced(byMicroseconds: -1))
                  }
                }
                try fired.send(to: output, context)
              }
            }
          }
          try output.watermark(watermark)
          try late.watermark(watermark)
        })
    }
  }
}

/// The results of windows that fire together, each with its key.
@usableFromInline
struct FiredWindows<Output: Sendable>: ~Copyable {
  @usableFromInline var collector: Collector<Output>

  @inlinable
  init(capacity: Int, at time: Timestamp) {
    collector = Collector(capacity: capacity, keys: capacity)
    _ = collector.begin(at: time)
  }

  /// Appends what `result` makes of the key at `index`, which has a number of `width` bytes in front.
  @inlinable
  mutating func append<Key: KeyEncodable>(
    _ keys: borrowing KeyColumn, at index: Int, width: Int, _ result: (Key) throws -> Output
  ) throws {
    try unsafe keys.withBytes(at: index) { bytes in
      let key = unsafe bytes.slice(width, bytes.count - width)
      guard let decoded = unsafe Key.decodeKey(key) else { throw KeyColumn.undecodable(Key.self) }
      collector.append(try result(decoded))
      unsafe collector.batch.keys.append(key)
    }
  }

  @inlinable
  consuming func send(to output: Receiver<Output>, _ context: OperatorContext) throws {
    let results = collector.finish()
    context.counters.emitted(results.count)
    if !results.isEmpty { try output.batch(results) }
  }
}
