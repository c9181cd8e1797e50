import Bytes

/// Walks several runs as one, key by key in either direction: a binary heap of cursors, ordered by key, then by age.
struct RunMerge: ~Copyable {
  private var cursors: ContiguousArray<RunCursor>
  private var heap: ContiguousArray<Int> = []
  private let isReverse: Bool

  /// - Parameter runs: newest first.
  init(_ runs: [RunReader], atLeast key: UnsafeRawBufferPointer?) {
    isReverse = false
    cursors = ContiguousArray(runs.map { unsafe $0.cursor(atLeast: key) })
    fill()
  }

  /// The same, from the first key at or after `key` on.
  init(_ runs: [RunReader], from key: [UInt8]) {
    isReverse = false
    cursors = ContiguousArray(runs.map { run in unsafe key.withUnsafeBytes { unsafe run.cursor(atLeast: $0) } })
    fill()
  }

  /// The same, from the last key below `key` downwards.
  init(_ runs: [RunReader], before key: UnsafeRawBufferPointer?) {
    isReverse = true
    cursors = ContiguousArray(runs.map { unsafe $0.cursor(before: key) })
    fill()
  }

  private mutating func fill() {
    heap = ContiguousArray(cursors.indices.filter { cursors[$0].current != nil })
    for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(index) }
  }

  /// The newest change to the next key.
  var current: Change? { heap.isEmpty ? nil : cursors[heap[0]].current }

  /// Takes all changes to the next key into `versions`, newest first, and moves on.
  mutating func take(into versions: inout [Change]) {
    versions.removeAll(keepingCapacity: true)
    guard let first = current else { return }
    versions.append(first)
    advance()
    while let other = current, unsafe other.key.compare(first.key) == 0 {
      versions.append(other)
      advance()
    }
  }

  /// Takes the newest change to the next key, passing over older ones, and moves on.
  mutating func takeNewest() -> Change? {
    guard let first = current else { return nil }
    let prefix = cursors[heap[0]].prefix
    advance()
    while !heap.isEmpty, cursors[heap[0]].prefix == prefix, let other = current,
      unsafe other.key.compare(first.key) == 0
    {
      advance()
    }
    return first
  }

  /// Moves beyond the newest change of the next key only.
  private mutating func advance() {
    let source = heap[0]
    if isReverse { cursors[source].previous() } else { cursors[source].next() }
    if cursors[source].current == nil {
      heap[0] = heap[heap.count - 1]
      heap.removeLast()
    }
    sink(0)
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while true {
      var child = parent * 2 + 1
      if child >= heap.count { return }
      if child + 1 < heap.count && comesBefore(heap[child + 1], heap[child]) { child += 1 }
      if !comesBefore(heap[child], heap[parent]) { return }
      heap.swapAt(child, parent)
      parent = child
    }
  }

  private func comesBefore(_ left: Int, _ right: Int) -> Bool {
    if cursors[left].prefix != cursors[right].prefix {
      return (cursors[left].prefix < cursors[right].prefix) != isReverse
    }
    guard let one = cursors[left].current, let other = cursors[right].current else { return left < right }
    let order = unsafe one.key.compare(other.key)
    if order != 0 { return (order < 0) != isReverse }
    return left < right
  }
}
