public import Records

/// A list for each key, of any length: a part of an operator, declared with `OperatorParts.list`.
///
/// Every element is stored by itself: appending writes one and no other. Of use during the operator's calls only.
public final class ListState<Value: Record> {
  @usableFromInline let elementsStore: EntryStore<Value>
  /// Where the key's elements lie.
  @usableFromInline let bounds: ValueState<ListBounds>

  @usableFromInline
  init(_ elements: EntryStore<Value>, _ bounds: ValueState<ListBounds>) {
    elementsStore = elements
    self.bounds = bounds
  }

  /// Appends an element.
  @inlinable
  public func append(_ value: Value) throws {
    var place = bounds.value ?? ListBounds()
    try elementsStore.change(place.end) { $0 = value }
    place.end += 1
    bounds.value = place
  }

  /// Calls `body` with the elements in order, or against it, until it returns false.
  @inlinable
  public func visit(reversed: Bool = false, _ body: (Value) throws -> Bool) throws {
    guard let place = bounds.value else { return }
    var walk = elementsStore.walk(from: place.first, before: place.end, reversed: reversed)
    while !walk.isDone {
      var page: [Value] = []
      try unsafe elementsStore.next(&walk, limit: 64) { _, value in page.append(value) }
      for value in page where try !body(value) { return }
    }
  }

  /// All elements, in order.
  @inlinable
  public func elements() throws -> [Value] {
    var all: [Value] = []
    try visit {
      all.append($0)
      return true
    }
    return all
  }

  /// The number of elements; where elements expire it looks at all of them.
  @inlinable
  public func count() throws -> Int {
    if elementsStore.store.ttl == nil { return Int((bounds.value ?? ListBounds()).count) }
    var count = 0
    try visit { _ in
      count += 1
      return true
    }
    return count
  }

  /// Removes the first element and returns it; nil if there is none.
  @inlinable
  @discardableResult
  public func removeFirst() throws -> Value? {
    guard var place = bounds.value else { return nil }
    while place.first < place.end {
      let removed = try elementsStore.change(place.first) { $0.take() }
      place.first += 1
      if let removed {
        bounds.value = place.count > 0 ? place : nil
        return removed
      }
    }
    bounds.value = nil
    return nil
  }

  /// Removes the last element and returns it; nil if there is none.
  @inlinable
  @discardableResult
  public func removeLast() throws -> Value? {
    guard var place = bounds.value else { return nil }
    while place.first < place.end {
      place.end -= 1
      if let removed = try elementsStore.change(place.end, { $0.take() }) {
        bounds.value = place.count > 0 ? place : nil
        return removed
      }
    }
    bounds.value = nil
    return nil
  }

  /// Removes all elements; touches each of them.
  @inlinable
  public func removeAll() throws {
    guard let place = bounds.value else { return }
    for position in place.first..<place.end { try elementsStore.change(position) { $0 = nil } }
    bounds.value = nil
  }
}

/// The positions of a list's first element and behind its last.
public struct ListBounds: Record {
  @usableFromInline var first: Int64
  @usableFromInline var end: Int64

  @usableFromInline
  init() {
    first = 0
    end = 0
  }

  @usableFromInline var count: Int64 { end - first }
}
