import Bytes

/// Sorts byte keys: by radix over their first 16 bytes, then by comparison where these are equal.
///
/// A least-significant-digit radix sort (Knuth, The Art of Computer Programming 3, 5.2.5) that skips bytes in which no
/// two keys differ: integers as keys need a few passes.
enum KeySort {
  struct Item: BitwiseCopyable {
    var high: UInt64
    var low: UInt64
    var index: UInt32
  }

  /// The numbers 0 ..< `count` in the order of their keys. Keys are distinct; at most 2³² of them.
  static func order(count: Int, key: (Int) -> UnsafeRawBufferPointer) -> [UInt32] {
    guard count > 0 else { return [] }
    // Large pages: a pass writes to 256 places at once.
    let size = Pages.rounded(count * MemoryLayout<Item>.stride)
    let memory = unsafe (Pages.allocate(size, large: true), Pages.allocate(size, large: true))
    defer {
      unsafe Pages.free(memory.0, size)
      unsafe Pages.free(memory.1, size)
    }
    let items = unsafe UnsafeMutableBufferPointer(
      start: memory.0.bindMemory(to: Item.self, capacity: count), count: count)
    let spare = unsafe UnsafeMutableBufferPointer(
      start: memory.1.bindMemory(to: Item.self, capacity: count), count: count)
    for index in 0..<count {
      let bytes = unsafe key(index)
      let item = unsafe Item(high: word(bytes, 0), low: word(bytes, 8), index: UInt32(truncatingIfNeeded: index))
      unsafe items.initializeElement(at: index, to: item)
    }
    let sorted = unsafe count < 256 ? small(items) : radix(items, spare)
    unsafe settleTies(sorted, key)
    return unsafe [UInt32](unsafeUninitializedCapacity: count) { result, used in
      for index in 0..<count { unsafe result[index] = sorted[index].index }
      used = count
    }
  }

  /// Eight bytes from `offset` on as a number, zeros beyond the end.
  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    let left = bytes.count - offset
    if left >= 8 { return unsafe bytes.big(UInt64.self, at: offset) }
    if left <= 0 { return 0 }
    var value: UInt64 = 0
    for index in 0..<left { value = unsafe value &<< 8 | UInt64(bytes[offset + index]) }
    return value &<< UInt64(8 &* (8 &- left))
  }

  private static func small(_ items: UnsafeMutableBufferPointer<Item>) -> UnsafeMutableBufferPointer<Item> {
    var items = unsafe items
    unsafe items.sort { $0.high != $1.high ? $0.high < $1.high : $0.low < $1.low }
    return unsafe items
  }

  private static func radix(
    _ items: UnsafeMutableBufferPointer<Item>, _ spare: UnsafeMutableBufferPointer<Item>
  ) -> UnsafeMutableBufferPointer<Item> {
    var differing = (high: UInt64(0), low: UInt64(0))
    let first = unsafe items[0]
    for index in 0..<items.count {
      let item = unsafe items[index]
      differing.high |= item.high ^ first.high
      differing.low |= item.low ^ first.low
    }
    var source = unsafe items
    var target = unsafe spare
    for digit in 0..<16 {
      let shift = UInt64(digit % 8 * 8)
      let isHigh = digit >= 8
      if (isHigh ? differing.high : differing.low) &>> shift & 0xFF == 0 { continue }
      unsafe pass(source, target, shift, isHigh)
      unsafe swap(&source, &target)
    }
    return unsafe source
  }

  private static func pass(
    _ source: UnsafeMutableBufferPointer<Item>, _ target: UnsafeMutableBufferPointer<Item>, _ shift: UInt64,
    _ isHigh: Bool
  ) {
    unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { places in
      unsafe places.initialize(repeating: 0)
      for index in 0..<source.count {
        let word = unsafe isHigh ? source[index].high : source[index].low
        unsafe places[Int(truncatingIfNeeded: word &>> shift & 0xFF)] &+= 1
      }
      var sum = 0
      for byte in 0..<256 {
        let count = unsafe places[byte]
        unsafe places[byte] = sum
        sum &+= count
      }
      for index in 0..<source.count {
        let item = unsafe source[index]
        let byte = Int(truncatingIfNeeded: (isHigh ? item.high : item.low) &>> shift & 0xFF)
        unsafe target[places[byte]] = item
        unsafe places[byte] &+= 1
      }
    }
  }

  /// Orders items whose first 16 bytes are equal by their whole keys.
  private static func settleTies(
    _ items: UnsafeMutableBufferPointer<Item>, _ key: (Int) -> UnsafeRawBufferPointer
  ) {
    var start = 0
    while start < items.count {
      var end = start + 1
      while unsafe end < items.count && items[end].high == items[start].high && items[end].low == items[start].low {
        end += 1
      }
      if end - start > 1 {
        unsafe items[start..<end].sort { unsafe key(Int($0.index)).compare(key(Int($1.index))) < 0 }
      }
      start = end
    }
  }
}
