public import Records

/// What panes hold: a value, or the records themselves. A pane is a window of a key.
///
/// Panes are named by a place in the column that was prepared last.
@usableFromInline
protocol PaneContents: AnyObject, SendableMetatype {
  associatedtype Element: Sendable
  associatedtype Contents

  /// Makes panes `range`, at most 128, ready for the calls below.
  func prepare(_ panes: borrowing KeyColumn, _ range: Range<Int>) throws
  func add(_ element: borrowing Element, to panes: borrowing KeyColumn, at index: Int) throws
  /// What a pane holds; nil: nothing.
  func read(_ panes: borrowing KeyColumn, at index: Int) throws -> Contents?
  func clear(_ panes: borrowing KeyColumn, at index: Int) throws
  /// Moves what the only pane of `others` holds behind what the only pane of `panes` holds. Prepares neither.
  func merge(_ others: borrowing KeyColumn, into panes: borrowing KeyColumn) throws
  /// The changes since the last of these two stay, or are taken back.
  func keepChanges()
  func undoChanges()
}

/// One value per pane, folded from its records.
@usableFromInline
final class AggregatedContents<Element: Sendable, Value: Record>: PaneContents {
  @usableFromInline let initial: Value
  @usableFromInline let values: KeyedState<Value>
  @usableFromInline let update: (inout Value, Element) throws -> Void
  @usableFromInline let join: (inout Value, Value) throws -> Void

  @inlinable
  init(
    _ initial: Value, _ backing: any KeyedBacking<Value>, _ context: OperatorContext, isUndoable: Bool,
    update: @escaping (inout Value, Element) throws -> Void, merge: @escaping (inout Value, Value) throws -> Void
  ) {
    self.initial = initial
    values = context.keyedState(over: backing)
    values.isUndoable = isUndoable
    self.update = update
    join = merge
  }

  @inlinable
  func prepare(_ panes: borrowing KeyColumn, _ range: Range<Int>) throws { try values.prepare(panes, range) }

  @inlinable
  func add(_ element: borrowing Element, to panes: borrowing KeyColumn, at index: Int) throws {
    let element = copy element
    try values.change(at: index) { value in
      if value == nil { value = initial }
      try update(&value!, element)
    }
  }

  @inlinable
  func read(_ panes: borrowing KeyColumn, at index: Int) throws -> Value? { values.value(at: index) }

  @inlinable
  func clear(_ panes: borrowing KeyColumn, at index: Int) throws { values.change(at: index) { $0 = nil } }

  @inlinable
  func merge(_ others: borrowing KeyColumn, into panes: borrowing KeyColumn) throws {
    try values.prepare(others, 0..<1)
    guard let other = values.change(at: 0, body: { $0.take() }) else { return }
    try values.prepare(panes, 0..<1)
    try values.change(at: 0) { value in
      if value == nil { value = other } else { try join(&value!, other) }
    }
  }

  @inlinable func keepChanges() { values.keepChanges() }
  @inlinable func undoChanges() { values.undoChanges() }
}

/// The records themselves, each an entry of its own: a large window does not write itself anew with every record.
@usableFromInline
final class ListedContents<Element: Record>: PaneContents {
  /// How many records each pane has; they are numbered from 1 on.
  @usableFromInline let counts: KeyedState<Int64>
  /// Key: pane ‖ key ‖ number.
  @usableFromInline let elements: KeyedState<Element>
  @usableFromInline var one = KeyColumn()

  @inlinable
  init(
    _ counts: any KeyedBacking<Int64>, _ elements: any KeyedBacking<Element>, _ context: OperatorContext,
    isUndoable: Bool
  ) {
    self.counts = context.keyedState(over: counts)
    self.elements = context.keyedState(over: elements)
    self.counts.isUndoable = isUndoable
    self.elements.isUndoable = isUndoable
  }

  @inlinable
  func prepare(_ panes: borrowing KeyColumn, _ range: Range<Int>) throws { try counts.prepare(panes, range) }

  @inlinable
  func add(_ element: borrowing Element, to panes: borrowing KeyColumn, at index: Int) throws {
    let element = copy element
    let number = counts.change(at: index) { count in
      count = (count ?? 0) + 1
      return count ?? 0
    }
    one.removeAll()
    one.append(from: panes, at: index, namespace: number)
    try elements.prepare(one, 0..<1)
    elements.change(at: 0) { $0 = element }
  }

  @inlinable
  func read(_ panes: borrowing KeyColumn, at index: Int) throws -> [Element]? {
    guard let count = counts.value(at: index), count > 0 else { return nil }
    return try list(panes, at: index, count)
  }

  @inlinable
  func list(_ panes: borrowing KeyColumn, at index: Int, _ count: Int64) throws -> [Element] {
    var keys = KeyColumn(capacity: Int(count))
    for number in 1...count { keys.append(from: panes, at: index, namespace: number) }
    var result: [Element] = []
    result.reserveCapacity(Int(count))
    try elements.read(keys, 0..<keys.count) { _, element in if let element { result.append(element) } }
    return result
  }

  @inlinable
  func clear(_ panes: borrowing KeyColumn, at index: Int) throws {
    guard let count = counts.change(at: index, body: { $0.take() }), count > 0 else { return }
    try remove(panes, at: index, count)
  }

  @inlinable
  func remove(_ panes: borrowing KeyColumn, at index: Int, _ count: Int64) throws {
    for number in 1...count {
      one.removeAll()
      one.append(from: panes, at: index, namespace: number)
      try elements.prepare(one, 0..<1)
      elements.change(at: 0) { $0 = nil }
    }
  }

  @inlinable
  func merge(_ others: borrowing KeyColumn, into panes: borrowing KeyColumn) throws {
    try counts.prepare(others, 0..<1)
    guard let count = counts.change(at: 0, body: { $0.take() }), count > 0 else { return }
    let moved = try list(others, at: 0, count)
    try remove(others, at: 0, count)
    try counts.prepare(panes, 0..<1)
    for element in moved { try add(element, to: panes, at: 0) }
  }

  @inlinable
  func keepChanges() {
    counts.keepChanges()
    elements.keepChanges()
  }

  @inlinable
  func undoChanges() {
    counts.undoChanges()
    elements.undoChanges()
  }
}
