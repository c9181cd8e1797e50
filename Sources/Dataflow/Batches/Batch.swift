public import Bytes

/// The unit of flow: records with their timestamps and, where the stream is keyed, their keys.
///
/// Noncopyable: a batch is moved from stage to stage and its elements with it. Whoever takes it last frees it.
@safe
@frozen
public struct Batch<Element>: ~Copyable {
  // Invariant: `elements` and `times` hold `capacity` slots, of which the first `used` are initialised.
  @usableFromInline internal var elements: UnsafeMutablePointer<Element>
  @usableFromInline internal var times: UnsafeMutablePointer<Timestamp>
  @usableFromInline internal var capacity: Int
  @usableFromInline internal var used: Int
  /// The records' keys, one for each; empty where the stream has none.
  public var keys: KeyColumn

  /// An empty batch with room for `capacity` records.
  @inlinable
  public init(capacity: Int = 0, keys: consuming KeyColumn = KeyColumn()) {
    self.capacity = capacity
    unsafe self.elements = .allocate(capacity: capacity)
    unsafe self.times = .allocate(capacity: capacity)
    self.used = 0
    self.keys = keys
  }

  deinit {
    unsafe elements.deinitialize(count: count)
    unsafe elements.deallocate()
    unsafe times.deallocate()
  }

  /// The number of records.
  @inlinable
  public var count: Int { used }

  /// Whether there is no record.
  @inlinable
  public var isEmpty: Bool { count == 0 }

  /// Appends a record; the caller appends its key to `keys` if the batch is keyed.
  @inlinable
  public mutating func append(_ element: consuming Element, at timestamp: Timestamp) {
    if used == capacity { grow(to: capacity + 1) }
    unsafe (elements + used).initialize(to: element)
    unsafe times[used] = timestamp
    used += 1
  }

  /// Makes room for `capacity` records in all.
  @inlinable
  public mutating func reserve(_ capacity: Int) {
    if capacity > self.capacity { grow(to: capacity) }
  }

  @usableFromInline
  internal mutating func grow(to needed: Int) {
    let larger = max(needed, capacity * 2, 16)
    let newElements = UnsafeMutablePointer<Element>.allocate(capacity: larger)
    unsafe newElements.moveInitialize(from: elements, count: count)
    unsafe elements.deallocate()
    unsafe elements = newElements
    let newTimes = UnsafeMutablePointer<Timestamp>.allocate(capacity: larger)
    unsafe newTimes.moveInitialize(from: times, count: count)
    unsafe times.deallocate()
    unsafe times = newTimes
    capacity = larger
  }

  /// The record at `index`.
  @inlinable
  public subscript(index: Int) -> Element {
    _read {
      precondition(index >= 0 && index < count, "index outside the batch")
      yield unsafe elements[index]
    }
  }

  /// The timestamp of the record at `index`.
  @inlinable
  public func timestamp(_ index: Int) -> Timestamp {
    precondition(index >= 0 && index < count, "index outside the batch")
    return unsafe times[index]
  }

  /// The greatest timestamp from record `first` on; nil if there is none.
  public func latestTimestamp(from first: Int = 0) -> Timestamp? {
    guard first < count else { return nil }
    var latest = Timestamp.min
    for index in first..<count { latest = unsafe max(latest, times[index]) }
    return latest
  }

  /// Gives every record the timestamp `time`.
  public mutating func setTimestamps(to time: Timestamp) {
    for index in 0..<count { unsafe times[index] = time }
  }

  /// Drops the records from `newCount` on, not their keys: for undoing appends before the keys follow.
  @inlinable
  public mutating func truncate(to newCount: Int) {
    precondition(newCount >= 0 && newCount <= count, "truncate beyond the batch")
    unsafe (elements + newCount).deinitialize(count: count - newCount)
    used = newCount
  }
}

// A batch owns its memory alone, so moving it to another thread moves everything.
extension Batch: @unchecked Sendable where Element: Sendable {}

extension Batch {
  /// A batch of the same records.
  public func copy() -> Batch<Element> {
    var result = Batch<Element>(capacity: used, keys: keys.copy())
    unsafe result.elements.initialize(from: elements, count: used)
    unsafe result.times.update(from: times, count: used)
    result.used = used
    return result
  }

  /// Whether every record has its key.
  @inlinable
  public var isKeyed: Bool { keys.count == used }

  /// Takes the keys out.
  @inlinable
  public mutating func takeKeys() -> KeyColumn {
    var taken = KeyColumn()
    swap(&taken, &keys)
    return taken
  }

  /// Takes the first record's slot out of the batch's hands: `moveOut` was called for each index.
  @inlinable
  internal mutating func disown() { used = 0 }

  /// Moves record `index` out; once for each index, then `disown`.
  @inlinable
  @unsafe
  internal mutating func moveOut(_ index: Int) -> Element { unsafe (elements + index).move() }
}
