internal import Bytes
internal import Tables

/// The keys of the rows that a merge makes, one behind the other.
struct MergedKeys: ~Copyable {
  private var bytes = ByteBuffer(capacity: 1 << 14)
  private var ends: [Int] = []

  var count: Int { ends.count }

  mutating func collect(_ origins: [GroupMerger.Origin], _ groups: [GroupView], _ changes: [GroupMerger.Change]) {
    bytes.removeAll()
    ends.removeAll(keepingCapacity: true)
    var group = 0
    var offset = 0
    for origin in origins {
      if origin.base >= 0 {
        while Int(origin.base) - offset >= groups[group].rows {
          offset += groups[group].rows
          group += 1
        }
        groups[group].appendKey(Int(origin.base) - offset, to: &bytes)
      } else {
        unsafe bytes.append(changes[Int(origin.change)].key)
      }
      ends.append(bytes.count)
    }
  }

  /// The key of row `row`; valid until the next `collect`.
  subscript(row: Int) -> UnsafeRawBufferPointer {
    let start = row == 0 ? 0 : ends[row - 1]
    return unsafe bytes.bytes.slice(start, ends[row] - start)
  }

  /// The first row from `end` on before which a group may end.
  func separableEnd(atLeast end: Int) -> Int {
    var end = end
    while end < count, unsafe !Fence.separates(self[end - 1], self[end]) { end += 1 }
    return end
  }
}
