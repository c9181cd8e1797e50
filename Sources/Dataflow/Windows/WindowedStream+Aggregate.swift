import Bytes
public import Records

extension WindowedStream where Shape: SeparateWindowShape {
  /// Folds the records of each key and window into one value and emits what `result` makes of it whenever the window
  /// fires. A result has the window's last microsecond as its timestamp (of global windows: the time of what made it
  /// fire) and the records' key.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store; what belongs to it is kept as `name/…`.
  ///   - onError: what becomes of a record on which `update` throws, or a window on which `result` does.
  @inlinable
  public func aggregate<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, initial: Value, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ value: Value) throws -> Output
  ) -> Stream<Output> {
    add(name, initial: initial, onError: onError, update, merge: { _, _ in }, result: result).results
  }

  /// As `aggregate`, with the late records as a stream of their own.
  @inlinable
  public func aggregateWithLate<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, initial: Value, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ value: Value) throws -> Output
  ) -> (results: Stream<Output>, late: Stream<Element>) {
    add(name, initial: initial, onError: onError, update, merge: { _, _ in }, result: result)
  }
}

extension WindowedStream where Shape: MergingWindowShape {
  /// Folds the records of each key and window into one value and emits what `result` makes of it whenever the window
  /// fires. A result has the window's last microsecond as its timestamp and the records' key.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store; what belongs to it is kept as `name/…`.
  ///   - onError: what becomes of a record on which `update` throws, or a window on which `result` does. An error of
  ///     `merge` always fails the job.
  ///   - merge: joins the values of two parts of a window, the earlier one first.
  @inlinable
  public func aggregate<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, initial: Value, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    merge: @escaping @Sendable (_ value: inout Value, _ later: Value) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ value: Value) throws -> Output
  ) -> Stream<Output> {
    add(name, initial: initial, onError: onError, update, merge: merge, result: result).results
  }

  /// As `aggregate`, with the late records as a stream of their own.
  @inlinable
  public func aggregateWithLate<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, initial: Value, onError: ErrorPolicy = .fail,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    merge: @escaping @Sendable (_ value: inout Value, _ later: Value) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ value: Value) throws -> Output
  ) -> (results: Stream<Output>, late: Stream<Element>) {
    add(name, initial: initial, onError: onError, update, merge: merge, result: result)
  }
}

extension WindowedStream {
  /// The way of keeping windows that these need.
  @inlinable
  func add<Key: KeyEncodable, Value: Record, Output: Sendable>(
    _ name: String, initial: Value, onError: ErrorPolicy,
    _ update: @escaping @Sendable (inout Value, Element) throws -> Void,
    merge: @escaping @Sendable (inout Value, Value) throws -> Void,
    result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ value: Value) throws -> Output
  ) -> (results: Stream<Output>, late: Stream<Element>) {
    checkSettings(name)
    if let grid = slicedGrid {
      if grid.isSingle && settings.lateness == 0 {
        return keyed.addPlainWindows(name, grid, initial: initial, onError: onError, update, result: result)
      }
      return keyed.addSliceWindows(
        name, grid, lateness: settings.lateness, initial: initial, onError: onError, update, merge: merge,
        result: result)
    }
    return keyed.addPanes(
      name, PaneLayout(shape.layout, settings), trigger, onError, states: [StateDeclaration(name, .windows)],
      contents: { context in
        AggregatedContents(
          initial, try context.stateBacking(name, of: Value.self), context, isUndoable: onError != .fail,
          update: update, merge: merge)
      }, result: result)
  }

  /// The grid, if windows can be merged from slices: they fire at the end alone and keep what they have.
  @usableFromInline
  var slicedGrid: WindowGrid? {
    guard case .grid(let grid) = shape.layout.kind, !settings.isPurging, !settings.isProcessingTime,
      let trigger = trigger as? StandardTrigger<Element>, trigger.isPlain
    else { return nil }
    return grid
  }

  /// Notes what cannot be right.
  @usableFromInline
  func checkSettings(_ name: String) {
    if settings.isProcessingTime && settings.lateness > 0 {
      keyed.flow.refuse(
        DataflowError(
          .invalidArgument, name, "windows by the clock know no lateness; leave out allowingLateness"))
    }
    if case .global = shape.layout.kind, settings.lateness > 0 {
      keyed.flow.refuse(
        DataflowError(.invalidArgument, name, "nothing is late for a window without end; leave out allowingLateness"))
    }
  }
}
