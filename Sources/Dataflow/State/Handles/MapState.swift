public import Records

/// A map for each key, of any size: a part of an operator, declared with `OperatorParts.map`.
///
/// Every entry is stored by itself; entries have the order of their keys' canonical bytes (see `KeyEncodable`), which
/// is the order of numbers and of strings by their UTF-8. Of use during the operator's calls only.
public final class MapState<Key: KeyEncodable, Value: Record> {
  @usableFromInline let entries: EntryStore<Value>

  @usableFromInline
  init(_ entries: EntryStore<Value>) { self.entries = entries }

  /// The value of `key`, or nil.
  @inlinable
  public func value(for key: Key) throws -> Value? { try entries.value(key) }

  /// Whether there is a value for `key`.
  @inlinable
  public func contains(_ key: Key) throws -> Bool { try entries.value(key) != nil }

  /// Sets the value of `key`; nil removes it.
  @inlinable
  public func set(_ value: Value?, for key: Key) throws { try entries.change(key) { $0 = value } }

  /// Changes the value of `key` in place; nil is absent. `body` must not use this map.
  @inlinable
  @discardableResult
  public func update<R>(_ key: Key, _ body: (inout Value?) throws -> R) throws -> R { try entries.change(key, body) }

  /// Removes the value of `key` and returns it.
  @inlinable
  @discardableResult
  public func remove(_ key: Key) throws -> Value? { try entries.change(key) { $0.take() } }

  /// Calls `body` with the entries from `lower` on and before `upper`, in the order of their keys or against it, until
  /// it returns false.
  ///
  /// `body` may change the map: what it changes ahead of the walk may or may not be met.
  @inlinable
  public func visit(
    from lower: Key? = nil, before upper: Key? = nil, reversed: Bool = false,
    _ body: (_ key: Key, _ value: Value) throws -> Bool
  ) throws {
    try visitPages(from: lower, before: upper, reversed: reversed, pageSize: 64, body)
  }

  /// All entries in the order of their keys; for small maps.
  @inlinable
  public func elements() throws -> [(key: Key, value: Value)] {
    var all: [(key: Key, value: Value)] = []
    try visit { key, value in
      all.append((key, value))
      return true
    }
    return all
  }

  /// The entry with the least key from `lower` on, or nil.
  @inlinable
  public func first(from lower: Key? = nil) throws -> (key: Key, value: Value)? {
    try edge(from: lower, before: nil, reversed: false)
  }

  /// The entry with the greatest key before `upper`, or nil.
  @inlinable
  public func last(before upper: Key? = nil) throws -> (key: Key, value: Value)? {
    try edge(from: nil, before: upper, reversed: true)
  }

  @inlinable
  public var isEmpty: Bool { get throws { try first() == nil } }

  /// The number of entries; looks at all of them.
  @inlinable
  public func count() throws -> Int {
    var count = 0
    try visit { _, _ in
      count += 1
      return true
    }
    return count
  }

  /// Removes all entries; looks at each of them.
  @inlinable
  public func removeAll() throws {
    try visit { key, _ in
      try entries.change(key) { $0 = nil }
      return true
    }
  }

  @inlinable
  func edge(from lower: Key?, before upper: Key?, reversed: Bool) throws -> (key: Key, value: Value)? {
    var found: (key: Key, value: Value)?
    try visitPages(from: lower, before: upper, reversed: reversed, pageSize: 1) { key, value in
      found = (key, value)
      return false
    }
    return found
  }

  @inlinable
  func visitPages(
    from lower: Key?, before upper: Key?, reversed: Bool, pageSize: Int, _ body: (Key, Value) throws -> Bool
  ) throws {
    var walk = entries.walk(from: lower, before: upper, reversed: reversed)
    // A few at first: most walks look at little.
    var size = min(pageSize, 4)
    while !walk.isDone {
      var page: [(key: Key, value: Value)] = []
      try unsafe entries.next(&walk, limit: size) { bytes, value in
        guard let key = unsafe Key.decodeKey(bytes) else { throw KeyColumn.undecodable(Key.self) }
        page.append((key, value))
      }
      for entry in page where try !body(entry.key, entry.value) { return }
      size = min(size * 4, max(pageSize, 256))
    }
  }
}
