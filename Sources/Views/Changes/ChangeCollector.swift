internal import Bytes

/// Row changes in the order they came, later brought into key order with one change per key.
struct ChangeCollector: ~Copyable {
  private struct Entry {
    /// Eight bytes of the key behind what all keys share, as a number: decides most comparisons.
    var prefix: UInt64 = 0
    var offset: Int
    var keyCount: Int32
    /// −1 for a delete.
    var changeCount: Int32
  }

  private var bytes = ByteBuffer(capacity: 1 << 12)
  private var entries: [Entry] = []
  /// The number of leading bytes that all keys share.
  private var shared = 0

  var count: Int { entries.count }

  /// Adds a change: `key` and `change` append their bytes; no bytes of a change mean a delete.
  mutating func add(key: (inout ByteBuffer) -> Void, change: (inout ByteBuffer) -> Void) {
    let offset = bytes.count
    key(&bytes)
    let keyEnd = bytes.count
    change(&bytes)
    let changeCount = bytes.count - keyEnd
    noteShared(keyEnd - offset, at: offset)
    entries.append(
      Entry(
        offset: offset, keyCount: Int32(keyEnd - offset), changeCount: changeCount == 0 ? -1 : Int32(changeCount)))
  }

  /// Shortens what all keys share to what the new one shares too.
  private mutating func noteShared(_ count: Int, at offset: Int) {
    guard let first = entries.first else {
      shared = count
      return
    }
    var common = 0
    let most = min(shared, count)
    let all = unsafe bytes.bytes
    while common < most, unsafe all[first.offset + common] == all[offset + common] { common += 1 }
    shared = common
  }

  private static func prefix(_ key: UnsafeRawBufferPointer) -> UInt64 {
    if key.count >= 8 { return unsafe key.big(UInt64.self, at: 0) }
    var word: UInt64 = 0
    for index in 0..<8 { word = unsafe word << 8 | (index < key.count ? UInt64(key[index]) : 0) }
    return word
  }

  private func key(_ entry: Entry) -> UnsafeRawBufferPointer {
    unsafe bytes.bytes.slice(entry.offset, Int(entry.keyCount))
  }

  private func change(_ entry: Entry) throws(ViewError) -> RowChange {
    if entry.changeCount < 0 { return .delete }
    return unsafe try RowChange(bytes.bytes.slice(entry.offset + Int(entry.keyCount), Int(entry.changeCount)))
  }

  /// Sorts the changes and lays those of one key over each other.
  mutating func sorted(isBytes: (UInt32) -> Bool) throws(ViewError) -> SortedChanges {
    let bytes = unsafe bytes.bytes
    for index in entries.indices {
      let key = unsafe key(entries[index])
      entries[index].prefix = unsafe Self.prefix(key.slice(shared, key.count - shared))
    }
    entries.sort { left, right in
      if left.prefix != right.prefix { return left.prefix < right.prefix }
      let order = unsafe bytes.slice(left.offset, Int(left.keyCount)).compare(
        bytes.slice(right.offset, Int(right.keyCount)))
      return order == 0 ? left.offset < right.offset : order < 0
    }
    let sorted = SortedChanges(capacity: bytes.count)
    var index = 0
    var merged = ByteBuffer(capacity: 256)
    var next = ByteBuffer(capacity: 256)
    while index < entries.count {
      let key = unsafe key(entries[index])
      var change = try change(entries[index])
      index += 1
      while index < entries.count, unsafe self.key(entries[index]).compare(key) == 0 {
        let newer = try self.change(entries[index])
        index += 1
        if newer.kind == .delete {
          change = .delete
          continue
        }
        next.removeAll()
        try RowChange.combine(older: change, newer: newer, isBytes: isBytes, into: &next)
        swap(&merged, &next)
        change = unsafe try RowChange(merged.bytes)
      }
      unsafe sorted.append(key: key, change: change)
    }
    return sorted
  }
}

/// Changes in key order, one per key, in memory of their own.
///
/// Invariant of the unchecked conformance: immutable once `ChangeCollector.sorted` returned it.
final class SortedChanges: @unchecked Sendable {
  private struct Entry {
    var offset: Int
    var keyCount: Int32
    var changeCount: Int32
  }

  private var bytes: ByteBuffer
  private var entries: [Entry] = []

  init(capacity: Int) { bytes = ByteBuffer(capacity: capacity + 64) }

  func append(key: UnsafeRawBufferPointer, change: RowChange) {
    let offset = bytes.count
    unsafe bytes.append(key)
    unsafe bytes.append(change.bytes)
    unsafe entries.append(
      Entry(offset: offset, keyCount: Int32(key.count), changeCount: Int32(change.bytes.count)))
  }

  var count: Int { entries.count }

  func key(_ index: Int) -> UnsafeRawBufferPointer {
    unsafe bytes.bytes.slice(entries[index].offset, Int(entries[index].keyCount))
  }

  /// The change's bytes; none for a delete.
  func payload(_ index: Int) -> UnsafeRawBufferPointer {
    unsafe bytes.bytes.slice(entries[index].offset + Int(entries[index].keyCount), Int(entries[index].changeCount))
  }

  func change(_ index: Int) throws(ViewError) -> RowChange {
    unsafe entries[index].changeCount == 0 ? .delete : try RowChange(payload(index))
  }
}
