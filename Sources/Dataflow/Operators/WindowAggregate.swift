public import Bytes
public import Records

extension WindowedStream {
  /// Folds the records of each key and window into one value and emits what `result` makes of it, once, when the
  /// watermark reaches the window's end; its timestamp is the window's last microsecond, its key the records'.
  ///
  /// Records whose window has fired are late: dropped and counted.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store.
  ///   - onError: what becomes of a record on which `update` throws, or a window on which `result` does.
  @inlinable
  public func aggregate<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, initial: Value, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: Window, _ value: Value) throws -> Output
  ) -> Stream<Output> {
    aggregateWithLate(name, initial: initial, onError: onError, update, result: result).results
  }

  /// As `aggregate`, with the late records as a stream of their own.
  @inlinable
  public func aggregateWithLate<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, initial: Value, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: Window, _ value: Value) throws -> Output
  ) -> (results: Stream<Output>, late: Stream<Element>) {
    let windows = windows
    let description = OperatorDescription(
      kind: "window", name: name, keepsKeys: true, isTerminal: true, states: [StateDeclaration(name, .windows)],
      sides: onError.sides)
    return keyed.flow.addOperator(description, after: keyed.stream, as: Output.self, side: Element.self) {
      context, output, late in
      let state = context.keyedState(over: try context.stateBacking(name, of: Value.self))
      let index = TimeIndex()
      try context.loadNamespaces(of: name, into: index)
      let time = context.eventTime
      return Receiver(
        batch: { batch in
          context.counters.received(batch.count)
          let assigned = WindowAssignment(batch, windows, time.current, late: late.isDiscarding)
          if assigned.lateCount > 0 {
            context.counters.late(assigned.lateCount)
            if !late.isDiscarding { try late.batch(assigned.lateRecords(of: batch)) }
          }
          do {
            try state.update(
              assigned.keys, 0..<assigned.keys.count, onError, context, batch, at: { assigned.position($0) }
            ) { position, value in
              let record = assigned.position(position)
              if value == nil {
                value = initial
                try update(&value!, batch[record])
                let start = windows.start(of: batch.timestamp(record))
                index.keys(at: start).keys.append(from: assigned.keys, at: position)
              } else {
                try update(&value!, batch[record])
              }
            }
          } catch { throw context.failure(error) }
        },
        watermark: { watermark in
          if time.advance(to: watermark) {
            context.counters.watermark(time.current)
            while let limit = windows.latestStart(firedBy: time.current), let fired = index.next(upTo: limit) {
              let last = windows.last(of: fired.time)
              let window = Window(
                start: Timestamp(microseconds: fired.time), end: Timestamp(microseconds: last.saturatingAdd(1)))
              var collector = Collector<Output>(capacity: fired.waiting.keys.count, keys: fired.waiting.keys.count)
              _ = collector.begin(at: Timestamp(microseconds: last))
              try state.update(fired.waiting.keys, 0..<fired.waiting.keys.count) { position, value in
                guard let found = value.take() else { return }
                do {
                  try unsafe fired.waiting.keys.withBytes(at: position) { bytes in
                    let key = unsafe bytes.slice(0, bytes.count - 8)
                    guard let decoded = unsafe Key.decodeKey(key) else { throw KeyColumn.undecodable(Key.self) }
                    collector.append(try result(decoded, window, found))
                    unsafe collector.batch.keys.append(key)
                  }
                } catch {
                  try onError.handle(error, context, fired.waiting.keys, position, at: Timestamp(microseconds: last))
                }
              }
              let results = collector.finish()
              context.counters.emitted(results.count)
              if !results.isEmpty { try output.batch(results) }
            }
          }
          try output.watermark(watermark)
          try late.watermark(watermark)
        })
    }
  }
}

/// A batch's records that are on time, keyed by key and window.
@usableFromInline
struct WindowAssignment: ~Copyable {
  @usableFromInline var keys: KeyColumn
  @usableFromInline var lateCount = 0
  /// The records on time, and the late ones, by their places in the batch; empty while none is late.
  @usableFromInline var onTime: [Int] = []
  @usableFromInline var late: [Int] = []

  @inlinable
  init<Element>(
    _ batch: borrowing Batch<Element>, _ windows: TumblingWindows, _ watermark: Timestamp, late isDropped: Bool
  ) {
    let count = batch.count
    keys = KeyColumn(capacity: count)
    for position in 0..<count {
      let start = windows.start(of: batch.timestamp(position))
      if windows.last(of: start) <= watermark.microseconds {
        if lateCount == 0 { onTime = Array(0..<position) }
        lateCount += 1
        if !isDropped { late.append(position) }
      } else {
        if lateCount > 0 { onTime.append(position) }
        keys.append(from: batch.keys, at: position, namespace: start)
      }
    }
  }

  /// Where the record of key `index` lies in the batch.
  @inlinable
  func position(_ index: Int) -> Int { lateCount == 0 ? index : onTime[index] }

  /// Copies of the late records.
  @inlinable
  func lateRecords<Element>(of batch: borrowing Batch<Element>) -> Batch<Element> {
    var result = Batch<Element>(capacity: late.count, keys: KeyColumn(capacity: late.count))
    for position in late {
      result.keys.append(from: batch.keys, at: position)
      result.append(batch[position], at: batch.timestamp(position))
    }
    return result
  }
}
