/// Which keys wait for which times: in memory, beside the state that says whether they still do.
///
/// A key that waits no longer stays until its time comes and is found to have no state then.
@usableFromInline
final class TimeIndex {
  /// The keys of one time, each with the time behind it as its namespace.
  @usableFromInline
  final class Waiting {
    @usableFromInline var keys = KeyColumn()
    @usableFromInline init() {}
  }

  private var waiting: [Int64: Waiting] = [:]
  /// A binary heap of the times, the earliest first.
  private var times: [Int64] = []

  @usableFromInline init() {}

  var isEmpty: Bool { times.isEmpty }
  /// The earliest time for which a key may wait.
  var earliest: Int64? { times.first }

  /// The keys of `time`, to append to.
  @usableFromInline
  func keys(at time: Int64) -> Waiting {
    if let found = waiting[time] { return found }
    let made = Waiting()
    waiting[time] = made
    times.append(time)
    var child = times.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      if times[parent] <= times[child] { break }
      times.swapAt(parent, child)
      child = parent
    }
    return made
  }

  /// Takes out the earliest time that is not above `limit`, with its keys.
  @usableFromInline
  func next(upTo limit: Int64) -> (time: Int64, waiting: Waiting)? {
    guard let first = times.first, first <= limit, let keys = waiting.removeValue(forKey: first) else { return nil }
    let last = times.removeLast()
    if !times.isEmpty {
      times[0] = last
      sift()
    }
    return (first, keys)
  }

  private func sift() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < times.count && times[child] < times[least] {
        least = child
      }
      if least == parent { return }
      times.swapAt(parent, least)
      parent = least
    }
  }
}
