import Bytes

/// Groups what several slices hold by key, in the order in which keys appear, to merge a window from its slices.
@usableFromInline
@safe
final class MergeTable<Value> {
  /// Key by key, without numbers.
  @usableFromInline var keys = KeyColumn()
  @usableFromInline var values: [Value] = []
  /// Place + 1 of the key, by the low bits of its hash; 0: free.
  private var cells = [UInt32](repeating: 0, count: 64)

  @usableFromInline init() {}

  @usableFromInline
  func removeAll() {
    keys.removeAll()
    values.removeAll(keepingCapacity: true)
    for index in cells.indices { cells[index] = 0 }
  }

  /// The place of a key; `keys.count` before the call if it is new, and its value is to be appended then.
  @usableFromInline
  func place(of key: UnsafeRawBufferPointer) -> Int {
    let count = keys.count
    // At its end the column is the key's until it turns out to be known.
    unsafe keys.append(key)
    let hash = keys.hash(at: count).value
    let mask = cells.count - 1
    var cell = Int(truncatingIfNeeded: hash) & mask
    while cells[cell] != 0 {
      let known = Int(cells[cell]) - 1
      if keys.hash(at: known).value == hash, unsafe keys.withBytes(at: known, { unsafe $0.compare(key) == 0 }) {
        keys.removeLast()
        return known
      }
      cell = (cell + 1) & mask
    }
    cells[cell] = UInt32(count + 1)
    if (count + 1) * 2 > cells.count { grow() }
    return count
  }

  private func grow() {
    cells = [UInt32](repeating: 0, count: cells.count * 2)
    let mask = cells.count - 1
    for place in 0..<keys.count {
      var cell = Int(truncatingIfNeeded: keys.hash(at: place).value) & mask
      while cells[cell] != 0 { cell = (cell + 1) & mask }
      cells[cell] = UInt32(place + 1)
    }
  }
}
