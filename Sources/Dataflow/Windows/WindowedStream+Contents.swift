import Bytes
public import Records

extension WindowedStream where Element: Record {
  /// Keeps the records of each key and window, in the order in which they came, and emits what `result` makes of them
  /// whenever the window fires. Prefer `aggregate` where a running value will do: it keeps that alone.
  ///
  /// Each record is an entry of its own in the store, so a large window does not write itself anew; a firing reads all
  /// of them. In overlapping windows each keeps its own copy.
  ///
  /// - Parameters:
  ///   - name: the state's name in the store; what belongs to it is kept as `name/…`.
  ///   - onError: what becomes of a window on which `result` throws.
  @inlinable
  public func contents<Key: KeyEncodable, Output: Sendable>(
    _ name: String, onError: ErrorPolicy = .fail,
    _ result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ elements: [Element]) throws -> Output
  ) -> Stream<Output> {
    contentsWithLate(name, onError: onError, result).results
  }

  /// As `contents`, with the late records as a stream of their own.
  @inlinable
  public func contentsWithLate<Key: KeyEncodable, Output: Sendable>(
    _ name: String, onError: ErrorPolicy = .fail,
    _ result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ elements: [Element]) throws -> Output
  ) -> (results: Stream<Output>, late: Stream<Element>) {
    checkSettings(name)
    let elements = name + "/elements"
    return keyed.addPanes(
      name, PaneLayout(shape.layout, settings), trigger, onError,
      states: [StateDeclaration(name, .windows), StateDeclaration(elements, .windows)],
      contents: { context in
        ListedContents(
          try context.stateBacking(name, of: Int64.self), try context.stateBacking(elements, of: Element.self), context,
          isUndoable: onError != .fail)
      }, result: result)
  }
}
