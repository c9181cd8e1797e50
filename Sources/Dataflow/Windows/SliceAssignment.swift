public import Bytes

/// Finds the slice of one record after the other at one watermark; remembers the last two, since times are near each
/// other.
@usableFromInline
struct SliceCursor {
  /// A slice and what the watermark means to it.
  @usableFromInline
  struct Place {
    @usableFromInline let slice: WindowGrid.Slice
    /// Whether all windows that hold it are gone.
    @usableFromInline let isLate: Bool
    /// Whether a window that holds it has fired.
    @usableFromInline let isFired: Bool
  }

  private let grid: WindowGrid
  private let watermark: Int64
  private let lateness: Int64
  @usableFromInline var current: Place
  @usableFromInline var other: Place

  /// - Parameter lateness: microseconds for which a window is kept after its end.
  @usableFromInline
  init(_ grid: WindowGrid, _ watermark: Timestamp, lateness: Int64) {
    self.grid = grid
    self.watermark = watermark.microseconds
    self.lateness = lateness
    // Holds no time.
    let nowhere = WindowGrid.Slice(number: 0, first: .max, last: .min)
    current = Place(slice: nowhere, isLate: false, isFired: false)
    other = current
  }

  @inlinable
  @inline(__always)
  mutating func find(_ time: Int64) -> Place {
    if current.slice.contains(time) { return current }
    swap(&current, &other)
    if !current.slice.contains(time) { current = look(time) }
    return current
  }

  @usableFromInline
  func look(_ time: Int64) -> Place {
    let slice = grid.slice(at: time)
    let lastEnd = grid.end(ofWindow: grid.lastWindow(holding: slice.number))
    return Place(
      slice: slice, isLate: lastEnd.saturatingAdd(lateness) <= watermark,
      isFired: grid.end(ofWindow: grid.firstWindow(atLeast: slice.number)) <= watermark)
  }
}

/// A batch's records that are on time, keyed by slice and key.
@usableFromInline
struct SliceAssignment: ~Copyable {
  @usableFromInline var keys: KeyColumn
  /// The records on time, by their places in the batch; empty while none is late.
  @usableFromInline var onTime: [Int] = []
  @usableFromInline var late: LateRecords
  /// The slice of each key and whether a window that holds it has fired; only if one has.
  @usableFromInline var fired: [(index: Int, slice: Int64)] = []

  @inlinable
  init<Element>(
    _ batch: borrowing Batch<Element>, _ cursor: consuming SliceCursor, width: Int, wantsLate: Bool
  ) {
    let count = batch.count
    keys = KeyColumn(capacity: count)
    late = LateRecords(isWanted: wantsLate)
    for position in 0..<count {
      let place = cursor.find(batch.timestamp(position).microseconds)
      if place.isLate {
        if late.count == 0 { onTime = Array(0..<position) }
        late.append(position)
      } else {
        if late.count > 0 { onTime.append(position) }
        if place.isFired { fired.append((keys.count, place.slice.number)) }
        keys.append(place.slice.number, width: width, before: batch.keys, at: position)
      }
    }
  }

  /// Where the record of key `index` lies in the batch.
  @inlinable
  func position(_ index: Int) -> Int { late.count == 0 ? index : onTime[index] }
}

/// The late records of a batch.
@usableFromInline
struct LateRecords {
  @usableFromInline var count = 0
  @usableFromInline let isWanted: Bool
  @usableFromInline var positions: [Int] = []

  @inlinable
  init(isWanted: Bool) { self.isWanted = isWanted }

  @inlinable
  mutating func append(_ position: Int) {
    count += 1
    if isWanted { positions.append(position) }
  }

  /// Counts them, and sends copies on if anybody looks at them.
  @inlinable
  func send<Element>(
    of batch: borrowing Batch<Element>, to receiver: Receiver<Element>, _ context: OperatorContext
  ) throws {
    guard count > 0 else { return }
    context.counters.late(count)
    if !isWanted { return }
    var result = Batch<Element>(capacity: positions.count, keys: KeyColumn(capacity: positions.count))
    for position in positions {
      result.keys.append(from: batch.keys, at: position)
      result.append(batch[position], at: batch.timestamp(position))
    }
    try receiver.batch(result)
  }
}
