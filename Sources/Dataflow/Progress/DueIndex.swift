/// Which keys wait for which number: a window, or a time. What was added in this run is held in memory; what earlier
/// runs left is found in the state's table when its number is due, so that a start does not look at what waits.
///
/// A key that waits no longer stays until its number is due and is found to have no state then. About 40 bytes of
/// memory for each key added in this run.
@usableFromInline
final class DueIndex {
  /// The keys of one number, each with the number in front.
  @usableFromInline
  final class Waiting {
    @usableFromInline var keys = KeyColumn()
    @usableFromInline init() {}
  }

  private var waiting: [Int64: Waiting] = [:]
  /// A binary heap of the numbers, the least first.
  private var numbers: [Int64] = []
  /// What earlier runs left, if anything.
  private let stored: StoredDues?
  private var lastNumber: Int64 = 0
  private var lastWaiting: Waiting?

  @usableFromInline
  init(_ stored: StoredDues? = nil) { self.stored = stored }

  /// The keys of `number`, to append to.
  @usableFromInline
  func keys(of number: Int64) -> Waiting {
    if let lastWaiting, lastNumber == number { return lastWaiting }
    let found = waiting[number] ?? add(number)
    lastNumber = number
    lastWaiting = found
    return found
  }

  private func add(_ number: Int64) -> Waiting {
    let made = Waiting()
    waiting[number] = made
    numbers.append(number)
    var child = numbers.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      if numbers[parent] <= numbers[child] { break }
      numbers.swapAt(parent, child)
      child = parent
    }
    return made
  }

  /// The least number for which a key may wait.
  @usableFromInline
  var earliest: Int64? {
    guard let stored = stored?.earliest else { return numbers.first }
    return min(stored, numbers.first ?? stored)
  }

  /// Takes out the least number that is not above `limit`, with its keys; a key may be there twice.
  @usableFromInline
  func next(upTo limit: Int64) throws -> (number: Int64, waiting: Waiting)? {
    if let stored, let earliest = stored.earliest, earliest <= limit { try stored.take(upTo: limit, into: self) }
    guard let first = numbers.first, first <= limit, let keys = waiting.removeValue(forKey: first) else { return nil }
    remove()
    return (first, keys)
  }

  /// Finds what earlier runs left for numbers up to `limit`; each key is there once.
  @usableFromInline
  func find(upTo limit: Int64) throws {
    if let stored, let earliest = stored.earliest, earliest <= limit {
      try stored.take(upTo: limit, into: self, once: true)
    }
  }

  /// What is known of the numbers `first ... last`, in their order.
  @usableFromInline
  func known(from first: Int64, through last: Int64) -> [Waiting] {
    let (span, overflow) = last.subtractingReportingOverflow(first)
    if !overflow && span <= Int64(waiting.count) * 4 + 16 {
      return first > last ? [] : (first...last).compactMap { waiting[$0] }
    }
    return waiting.keys.filter { $0 >= first && $0 <= last }.sorted().compactMap { waiting[$0] }
  }

  /// The least known number at or above `number`.
  @usableFromInline
  func firstKnown(atLeast number: Int64) -> Int64? {
    var least: Int64?
    for known in waiting.keys where known >= number { least = min(least ?? known, known) }
    return least
  }

  private func remove() {
    lastWaiting = nil
    let last = numbers.removeLast()
    if numbers.isEmpty { return }
    numbers[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < numbers.count && numbers[child] < numbers[least] {
        least = child
      }
      if least == parent { return }
      numbers.swapAt(parent, least)
      parent = least
    }
  }
}

extension DueIndex {
  /// Adds key `index` of `column`, which has its number of `width` bytes in front.
  @usableFromInline
  func add(_ column: borrowing KeyColumn, at index: Int, width: Int) {
    let number = unsafe column.withBytes(at: index) { unsafe KeyColumn.number($0, width: width) }
    keys(of: number).keys.append(from: column, at: index)
  }
}
