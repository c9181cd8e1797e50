public import Bytes
public import Records

/// Windows merged from slices, that fire at their end and for each late record within the lateness.
extension KeyedStream {
  @inlinable
  func addSliceWindows<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, _ grid: WindowGrid, lateness: Int64, initial: Value, onError: ErrorPolicy,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    merge: @escaping @Sendable (inout Value, Value) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ value: Value) throws -> Output
  ) -> (results: Stream<Output>, late: Stream<Element>) {
    let description = OperatorDescription(
      kind: "window", name: name, keepsKeys: true, isTerminal: true, states: [StateDeclaration(name, .windows)],
      sides: onError.sides)
    return flow.addOperator(description, after: stream, as: Output.self, side: Element.self) {
      context, output, late in
      let windows = SliceWindows<Element, Key, Value, Output>(
        grid, lateness: lateness, context, output, try context.stateBacking(name, of: Value.self),
        try context.dueIndex(of: name, width: grid.numberWidth), onError, merge: merge, result: result)
      let (state, time) = (windows.state, context.eventTime)
      return Receiver(
        batch: { batch in
          context.counters.received(batch.count)
          let cursor = SliceCursor(grid, time.current, lateness: lateness)
          let assigned = SliceAssignment(batch, cursor, width: windows.width, wantsLate: !late.isDiscarding)
          try assigned.late.send(of: batch, to: late, context)
          var done = 0
          // A record of a window that has fired fires it again, with the records before it and without those after.
          for stop in 0...assigned.fired.count {
            let isFired = stop < assigned.fired.count
            let end = isFired ? assigned.fired[stop].index + 1 : assigned.keys.count
            do {
              try state.update(
                assigned.keys, done..<end, onError, context, batch, at: { assigned.position($0) }
              ) { position, value in
                let isNew = value == nil
                if isNew { value = initial }
                try update(&value!, batch[assigned.position(position)])
                if isNew { windows.index.add(assigned.keys, at: position, width: windows.width) }
              }
            } catch { throw context.failure(error) }
            if isFired {
              try windows.fireAgain(assigned.keys, at: end - 1, slice: assigned.fired[stop].slice, time.current)
            }
            done = end
          }
        },
        watermark: { watermark in
          let before = time.current
          if time.advance(to: watermark) {
            context.counters.watermark(time.current)
            try windows.advance(from: before, to: time.current)
          }
          try output.watermark(watermark)
          try late.watermark(watermark)
        })
    }
  }
}

/// The slices of one operator on one subtask, and the firing of windows from them.
@usableFromInline
final class SliceWindows<Element: Sendable, Key: KeyEncodable, Value: Record, Output: Sendable> {
  @usableFromInline let grid: WindowGrid
  @usableFromInline let width: Int
  @usableFromInline let lateness: Int64
  @usableFromInline let context: OperatorContext
  @usableFromInline let output: Receiver<Output>
  @usableFromInline let state: KeyedState<Value>
  @usableFromInline let index: DueIndex
  @usableFromInline let onError: ErrorPolicy<Element>
  @usableFromInline let merge: (inout Value, Value) throws -> Void
  @usableFromInline let result: (Key, WindowFiring, Value) throws -> Output
  @usableFromInline let table = MergeTable<Value>()

  @inlinable
  init(
    _ grid: WindowGrid, lateness: Int64, _ context: OperatorContext, _ output: Receiver<Output>,
    _ backing: any KeyedBacking<Value>, _ index: DueIndex, _ onError: ErrorPolicy<Element>,
    merge: @escaping (inout Value, Value) throws -> Void,
    result: @escaping (Key, WindowFiring, Value) throws -> Output
  ) {
    self.grid = grid
    width = grid.numberWidth
    self.lateness = lateness
    self.context = context
    self.output = output
    state = context.keyedState(over: backing)
    self.index = index
    self.onError = onError
    self.merge = merge
    self.result = result
  }

  /// Fires the windows that end between two watermarks and lets go of the slices that no window needs any more.
  @inlinable
  func advance(from before: Timestamp, to now: Timestamp) throws {
    guard let over = grid.lastOver(at: now) else { return }
    try index.find(upTo: over)
    var next = grid.lastOver(at: before).map { grid.window(after: $0) } ?? .min
    while let window = nextWindow(atLeast: next, upTo: over) {
      try fire(window)
      if window == .max { break }
      next = grid.window(after: window)
    }
    while let slice = index.firstKnown(atLeast: .min), slice <= over {
      guard grid.end(ofWindow: grid.lastWindow(holding: slice)).saturatingAdd(lateness) <= now.microseconds,
        let gone = try index.next(upTo: slice)
      else { break }
      try state.update(gone.waiting.keys, 0..<gone.waiting.keys.count) { _, value in value = nil }
    }
  }

  /// The first window at or after `window`, and not after `limit`, that any key has a record in.
  @usableFromInline
  func nextWindow(atLeast window: Int64, upTo limit: Int64) -> Int64? {
    var candidate = grid.firstWindow(atLeast: window)
    if let slice = index.firstKnown(atLeast: grid.firstSlice(ofWindow: candidate)) {
      if slice > candidate { candidate = grid.firstWindow(atLeast: slice) }
      return candidate <= limit ? candidate : nil
    }
    return nil
  }

  @inlinable
  func fire(_ window: Int64) throws {
    let firing = WindowFiring(grid.window(window), .onTime)
    table.removeAll()
    for waiting in index.known(from: grid.firstSlice(ofWindow: window), through: window) {
      do {
        try state.read(waiting.keys, 0..<waiting.keys.count) { position, value in
          guard let value else { return }
          try unsafe waiting.keys.withBytes(at: position) { bytes in
            let place = unsafe table.place(of: bytes.slice(width, bytes.count - width))
            if place == table.values.count {
              table.values.append(value)
            } else {
              try merge(&table.values[place], value)
            }
          }
        }
      } catch { throw context.failure(error) }
    }
    var fired = FiredWindows<Output>(capacity: table.values.count, at: firing.end.advanced(byMicroseconds: -1))
    for place in table.values.indices {
      do {
        try fired.append(table.keys, at: place, width: 0) { try result($0, firing, table.values[place]) }
      } catch { try onError.handle(error, context, table.keys, place, at: firing.end.advanced(byMicroseconds: -1)) }
    }
    try fired.send(to: output, context)
  }

  /// Fires for one key the windows that hold `slice` and have fired, as long as they are kept.
  @inlinable
  func fireAgain(_ keys: borrowing KeyColumn, at index: Int, slice: Int64, _ watermark: Timestamp) throws {
    // The key without its number, to be put behind others.
    let bare = KeyColumn(bareKeyOf: keys, at: index, width: width)
    let last = grid.lastWindow(holding: slice)
    var window = grid.firstWindow(atLeast: slice)
    while window <= last {
      let end = grid.end(ofWindow: window)
      if end > watermark.microseconds { return }
      if end.saturatingAdd(lateness) > watermark.microseconds {
        let first = grid.firstSlice(ofWindow: window)
        var parts = KeyColumn()
        for part in first...window { parts.append(part, width: width, before: bare, at: 0) }
        var merged: Value?
        do {
          try state.read(parts, 0..<parts.count) { _, value in
            guard let value else { return }
            if merged == nil { merged = value } else { try merge(&merged!, value) }
          }
        } catch { throw context.failure(error) }
        if let merged {
          let firing = WindowFiring(grid.window(window), .late)
          var fired = FiredWindows<Output>(capacity: 1, at: Timestamp(microseconds: end))
          do {
            try fired.append(bare, at: 0, width: 0) { try result($0, firing, merged) }
          } catch { try onError.handle(error, context, bare, 0, at: Timestamp(microseconds: end)) }
          try fired.send(to: output, context)
        }
      }
      window = grid.window(after: window)
    }
  }
}
