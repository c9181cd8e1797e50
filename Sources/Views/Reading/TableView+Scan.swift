internal import Bytes
internal import LMDB
internal import Tables

extension TableView {
  /// Calls `body` with each stretch of the rows with `start` ≤ key < `end`, in key order, until it returns false.
  ///
  /// - Throws: `damaged` where it meets damage; what `body` throws.
  func forEachSegment<T: ReadableTransaction & ~Copyable>(
    from start: UnsafeRawBufferPointer? = nil, to end: UnsafeRawBufferPointer? = nil, in transaction: borrowing T,
    _ body: (Segment) throws -> Bool
  ) throws {
    let segment = segment
    var merge = unsafe ChangeMerge(reader.runs, from: start)
    var isDone = false
    var sawLast = false
    if reader.baseEntryCount > 0 {
      unsafe try reader.forEachBlock(from: start, in: transaction) { block in
        let fence = block.fence?.bytes
        unsafe segment.begin(try VerifiedGroups.shared.group(block.bytes), from: start, to: end)
        if let fence {
          unsafe try fence.withUnsafeBytes { unsafe try merge.fill(segment, below: Self.lower($0, end)) }
        } else {
          sawLast = true
          unsafe try merge.fill(segment, below: end)
        }
        if segment.rows.isEmpty && segment.touched.isEmpty {
          isDone =
            unsafe end.map { end in unsafe fence?.withUnsafeBytes { unsafe $0.compare(end) >= 0 } ?? true } ?? false
          return !isDone
        }
        isDone = try !body(segment)
        return !isDone
      }
    }
    if isDone || sawLast { return }
    unsafe segment.begin(nil, from: start, to: end)
    unsafe try merge.fill(segment, below: end)
    if !segment.touched.isEmpty { _ = try body(segment) }
  }

  private static func lower(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer?
  ) -> UnsafeRawBufferPointer {
    guard let second = unsafe second else { return unsafe first }
    return unsafe first.compare(second) < 0 ? first : second
  }
}

/// Walks the changes of several runs key by key: a binary heap of cursors, ordered by key, then by age.
private struct ChangeMerge {
  private var cursors: ContiguousArray<RunCursor>
  /// Eight bytes of each cursor's key behind what all keys share.
  private var prefixes: ContiguousArray<UInt64> = []
  private let shared: Int
  private var heap: ContiguousArray<Int> = []

  /// - Parameter runs: newest first.
  init(_ runs: [RunReader], from start: UnsafeRawBufferPointer?) {
    cursors = ContiguousArray(runs.map { unsafe $0.cursor(atLeast: start) })
    shared = Self.sharedCount(runs)
    for index in cursors.indices {
      prefixes.append(prefix(cursors[index]))
      if cursors[index].current != nil { heap.append(index) }
    }
    for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(index) }
  }

  /// The number of leading bytes that the keys of all runs share.
  private static func sharedCount(_ runs: [RunReader]) -> Int {
    var shared = Int.max
    guard let sample = unsafe runs.first?.cursor(atLeast: nil).current?.key else { return 0 }
    for run in runs {
      for end in unsafe [run.cursor(atLeast: nil), run.cursor(before: nil)] {
        guard let key = unsafe end.current?.key else { continue }
        var common = 0
        let most = min(shared, key.count, sample.count)
        while common < most, unsafe key[common] == sample[common] { common += 1 }
        shared = common
      }
    }
    return shared
  }

  private func prefix(_ cursor: RunCursor) -> UInt64 {
    guard let key = unsafe cursor.current?.key else { return 0 }
    if key.count >= shared + 8 { return unsafe key.big(UInt64.self, at: shared) }
    var word: UInt64 = 0
    for index in shared..<(shared + 8) { unsafe word = word << 8 | (index < key.count ? UInt64(key[index]) : 0) }
    return word
  }

  /// Adds the changes of all keys below `limit` to `segment`.
  mutating func fill(_ segment: Segment, below limit: UnsafeRawBufferPointer?) throws {
    while let first = heap.first, let change = cursors[first].current {
      let key = unsafe change.key
      if let limit = unsafe limit, unsafe key.compare(limit) >= 0 { return }
      let start = segment.changeCount
      var isWhole = false
      while let next = heap.first, let version = cursors[next].current, unsafe version.key.compare(key) == 0 {
        if !isWhole {
          let change = try RowChange(version)
          segment.push(change)
          isWhole = change.kind != .upsert
        }
        advance()
      }
      unsafe segment.endKey(key, from: start)
    }
  }

  private mutating func advance() {
    let source = heap[0]
    cursors[source].next()
    if cursors[source].current == nil {
      heap[0] = heap[heap.count - 1]
      heap.removeLast()
    } else {
      prefixes[source] = prefix(cursors[source])
    }
    sink(0)
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while true {
      var child = parent * 2 + 1
      if child >= heap.count { return }
      if child + 1 < heap.count, isBefore(heap[child + 1], heap[child]) { child += 1 }
      if !isBefore(heap[child], heap[parent]) { return }
      heap.swapAt(child, parent)
      parent = child
    }
  }

  private func isBefore(_ left: Int, _ right: Int) -> Bool {
    if prefixes[left] != prefixes[right] { return prefixes[left] < prefixes[right] }
    guard let one = unsafe cursors[left].current?.key, let other = unsafe cursors[right].current?.key else {
      return left < right
    }
    let order = unsafe one.compare(other)
    return order == 0 ? left < right : order < 0
  }
}
