public import Bytes

/// Gathers what an operator makes of one record after the other.
public struct Collector<Element: Sendable>: ~Copyable {
  @usableFromInline var batch: Batch<Element>
  @usableFromInline var time = Timestamp.min

  @inlinable
  init(capacity: Int, keys: Int = 0) { batch = Batch(capacity: capacity, keys: KeyColumn(capacity: keys)) }

  /// Appends a record with the timestamp of what is being worked on.
  @inlinable
  public mutating func append(_ element: consuming Element) { batch.append(element, at: time) }

  /// Appends a record with a timestamp of its own.
  @inlinable
  public mutating func append(_ element: consuming Element, at time: Timestamp) { batch.append(element, at: time) }

  /// The records gathered.
  @inlinable public var count: Int { batch.count }

  /// Begins a record; returns where its outputs begin.
  @inlinable
  mutating func begin(at time: Timestamp) -> Int {
    self.time = time
    return batch.count
  }

  /// Takes back the outputs from `first` on.
  @inlinable
  mutating func undo(to first: Int) { batch.truncate(to: first) }

  /// Gives the outputs from `first` on the key at `index`.
  @inlinable
  mutating func takeKey(of keys: borrowing KeyColumn, at index: Int, from first: Int) {
    for _ in first..<batch.count { batch.keys.append(from: keys, at: index) }
  }

  /// The records gathered, as a batch of their own.
  @inlinable
  consuming func finish() -> Batch<Element> { batch }

  /// Takes out what was gathered and begins anew.
  @inlinable
  mutating func take() -> Batch<Element> {
    var taken = Batch<Element>()
    swap(&taken, &batch)
    return taken
  }
}
