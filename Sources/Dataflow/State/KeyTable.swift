import Bytes
import Glibc

/// The part of keyed state that knows only bytes: finds the entry of each key of a chunk.
///
/// An index of 8-byte cells (32 bits of hash, entry number + 1; linear probing, at most half full) points into slabs
/// of entries that never move: a header word, the 16-byte key, and room for the state's value. Growing rewrites the
/// index alone, front to back. A chunk is done in passes, all loads of one pass independent of each other, so that
/// the memory waits overlap.
///
/// Invariant of all pointers: they belong to this table alone and it is used by one thread at a time.
@usableFromInline
@safe
final class KeyTable {
  /// Records resolved at once.
  @inlinable static var chunk: Int { 128 }
  /// Bytes of an entry in front of the value: header, key.
  @inlinable static var entryHead: Int { 24 }

  /// The header word: epoch of the last change, key group, flags.
  @usableFromInline
  enum Header {
    /// The last value loaded or sealed is nil: a nil now is no change.
    @inlinable static var absent: UInt64 { 1 }
    /// Used since the eviction's hand came by.
    @inlinable static var referenced: UInt64 { 2 }
    /// The entry is on the free list.
    @inlinable static var free: UInt64 { 4 }
    @inlinable static var groupShift: UInt64 { 8 }
    @inlinable static var epochShift: UInt64 { 16 }
  }

  let stride: Int
  let slabShift: Int
  private let slabBytes: Int
  private var slabs: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private var slabCount = 0
  private var slabRoom = 16

  private var cells: UnsafeMutablePointer<UInt64>
  private var cellCount: Int

  /// Entries in use, and the entries ever made (some of them free).
  @usableFromInline private(set) var count = 0
  private(set) var made = 0
  private var freeSlots: [UInt32] = []
  /// Bytes of the keys that are too long for their entry.
  private(set) var longKeyBytes = 0

  /// The epoch that changes now belong to.
  @usableFromInline var epoch: UInt64 = 1
  /// The entries changed in this epoch, in the order of their first change.
  @usableFromInline var dirty: UnsafeMutablePointer<UnsafeMutableRawPointer>
  @usableFromInline var dirtyCount = 0
  @usableFromInline var dirtyRoom = 1024

  /// The entries of the chunk resolved last, by record; and which records of it found no entry.
  @usableFromInline let found: UnsafeMutablePointer<UnsafeMutableRawPointer>
  @usableFromInline let fresh: UnsafeMutablePointer<Int>
  private let gathered: UnsafeMutablePointer<UInt64>
  private var touched: UInt64 = 0

  /// A table whose entries hold a value of `valueSize` bytes behind `valueOffset`.
  init(valueOffset: Int, valueSize: Int, alignment: Int) {
    let align = max(8, alignment)
    stride = (valueOffset + valueSize + align - 1) / align * align
    // Slabs of 8 to 16 MB of address space; memory is used only where entries are.
    slabShift = max(4, Int.bitWidth - 1 - ((16 << 20) / stride).leadingZeroBitCount)
    slabBytes = Pages.rounded(stride << slabShift)
    unsafe slabs = .allocate(capacity: slabRoom)
    cellCount = 512
    unsafe cells = Pages.allocate(cellCount * 8).bindMemory(to: UInt64.self, capacity: cellCount)
    unsafe dirty = .allocate(capacity: dirtyRoom)
    unsafe found = .allocate(capacity: Self.chunk)
    unsafe fresh = .allocate(capacity: Self.chunk)
    unsafe gathered = .allocate(capacity: Self.chunk)
  }

  deinit {
    if longKeyBytes > 0 {
      for slot in 0..<made {
        let entry = unsafe pointer(slot)
        if unsafe Self.header(entry) & Header.free == 0 { unsafe freeLongKey(entry) }
      }
    }
    for index in 0..<slabCount { unsafe Pages.free(slabs[index], slabBytes) }
    unsafe slabs.deallocate()
    unsafe Pages.free(cells, cellCount * 8)
    unsafe dirty.deallocate()
    unsafe found.deallocate()
    unsafe fresh.deallocate()
    unsafe gathered.deallocate()
  }

  /// Bytes of memory that the table takes, values' own heap memory left out.
  var memory: Int { made * stride + cellCount * 8 + longKeyBytes + dirtyRoom * 8 }

  @inlinable
  @inline(__always)
  static func header(_ entry: UnsafeMutableRawPointer) -> UInt64 { unsafe entry.load(as: UInt64.self) }

  @inline(__always)
  func pointer(_ slot: Int) -> UnsafeMutableRawPointer {
    unsafe slabs[slot &>> slabShift] + (slot & (1 &<< slabShift &- 1)) &* stride
  }

  /// Notes the first change of `entry` in this epoch.
  @inlinable
  @inline(__always)
  func markDirty(_ entry: UnsafeMutableRawPointer, header: UInt64) {
    if dirtyCount == dirtyRoom { growDirty() }
    unsafe dirty[dirtyCount] = entry
    dirtyCount &+= 1
    let kept = header & 0xFF00 | Header.referenced
    unsafe entry.storeBytes(of: epoch &<< Header.epochShift | kept, as: UInt64.self)
  }

  @usableFromInline
  func growDirty() {
    let larger = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: dirtyRoom * 2)
    unsafe larger.update(from: dirty, count: dirtyCount)
    unsafe dirty.deallocate()
    unsafe dirty = larger
    dirtyRoom *= 2
  }
}

// MARK: - Finding

extension KeyTable {
  /// Finds or makes the entries of keys `start ..< start + count` (at most `chunk`) into `found`; returns how many were
  /// made: their record numbers (from 0) are in `fresh` and their values are not initialised.
  @usableFromInline
  func resolve(_ column: borrowing KeyColumn, _ start: Int, _ count: Int) -> Int {
    if (self.count + count) * 2 > cellCount { growIndex(toHold: self.count + count) }
    let keys = unsafe column.keys + start
    let hashes = unsafe column.hashes + start
    let cells = unsafe cells
    let mask = UInt64(truncatingIfNeeded: cellCount &- 1)
    let found = unsafe found
    let gathered = unsafe gathered
    for index in 0..<count { unsafe gathered[index] = unsafe cells[Int(truncatingIfNeeded: hashes[index] & mask)] }
    // Whatever stands first in the probe sequence with this tag is most likely it; an empty cell reads the table's
    // first entry instead, which costs nothing.
    var sum: UInt64 = 0
    let last = stride - 8
    if made > 0 {
      for index in 0..<count {
        var cell = unsafe gathered[index]
        let hash = unsafe hashes[index]
        if cell &>> 32 != hash & 0xFFFF_FFFF && cell != 0 {
          cell = unsafe nextCell(cells, mask, hash)
          unsafe gathered[index] = cell
        }
        let entry = unsafe pointer(Int(truncatingIfNeeded: max(cell & 0xFFFF_FFFF, 1) &- 1))
        unsafe found[index] = entry
        sum &+= unsafe entry.load(as: UInt64.self) &+ entry.load(fromByteOffset: last, as: UInt64.self)
      }
    }
    touched = sum
    var freshCount = 0
    for index in 0..<count {
      let key = unsafe keys[index]
      let entry = unsafe found[index]
      if unsafe gathered[index] != 0, !key.isLong, unsafe entry.load(fromByteOffset: 8, as: UInt64.self) == key.low,
        unsafe entry.load(fromByteOffset: 16, as: UInt64.self) == key.high
      {
        let header = unsafe Self.header(entry)
        if header & Header.referenced == 0 {
          unsafe entry.storeBytes(of: header | Header.referenced, as: UInt64.self)
        }
      } else {
        search(column, start &+ index, index, &freshCount)
      }
    }
    return freshCount
  }

  /// The first cell after a key's own that has its tag, or 0.
  @inline(never)
  private func nextCell(_ cells: UnsafeMutablePointer<UInt64>, _ mask: UInt64, _ hash: UInt64) -> UInt64 {
    var position = (hash & mask &+ 1) & mask
    while true {
      let cell = unsafe cells[Int(truncatingIfNeeded: position)]
      if cell == 0 || cell &>> 32 == hash & 0xFFFF_FFFF { return cell }
      position = (position &+ 1) & mask
    }
  }

  /// The whole probe for one key: its entry, or a new one.
  @inline(never)
  private func search(_ column: borrowing KeyColumn, _ position: Int, _ index: Int, _ freshCount: inout Int) {
    let hash = unsafe column.hashes[position]
    let key = unsafe column.keys[position]
    let mask = UInt64(truncatingIfNeeded: cellCount &- 1)
    var place = hash & mask
    while true {
      let cell = unsafe cells[Int(truncatingIfNeeded: place)]
      if cell == 0 { break }
      if cell &>> 32 == hash & 0xFFFF_FFFF {
        let entry = unsafe pointer(Int(truncatingIfNeeded: cell & 0xFFFF_FFFF) &- 1)
        if unsafe matches(entry, key, hash, column, position) {
          unsafe entry.storeBytes(of: Self.header(entry) | Header.referenced, as: UInt64.self)
          unsafe found[index] = entry
          return
        }
      }
      place = (place &+ 1) & mask
    }
    let slot = newSlot(key, hash, column, position)
    unsafe cells[Int(truncatingIfNeeded: place)] = hash &<< 32 | UInt64(truncatingIfNeeded: slot &+ 1)
    unsafe found[index] = pointer(slot)
    unsafe fresh[freshCount] = index
    freshCount += 1
  }

  private func matches(
    _ entry: UnsafeMutableRawPointer, _ key: InlineKey, _ hash: UInt64, _ column: borrowing KeyColumn, _ position: Int
  ) -> Bool {
    guard unsafe entry.load(fromByteOffset: 16, as: UInt64.self) == key.high else { return false }
    if !key.isLong { return unsafe entry.load(fromByteOffset: 8, as: UInt64.self) == key.low }
    return unsafe Self.withKey(entry) { own in
      unsafe column.withBytes(at: position) { unsafe own.compare($0) == 0 }
    }
  }

  /// Takes a free entry and writes header and key.
  private func newSlot(_ key: InlineKey, _ hash: UInt64, _ column: borrowing KeyColumn, _ position: Int) -> Int {
    let slot: Int
    if let reused = freeSlots.popLast() {
      slot = Int(reused)
    } else {
      slot = made
      if slot &>> slabShift == slabCount { addSlab() }
      // A small state does not take a large page.
      if slot == 1 << 14 { unsafe Pages.preferLargePages(slabs[0], slabBytes) }
      made += 1
    }
    count += 1
    let entry = unsafe pointer(slot)
    var low = key.low
    if key.isLong {
      let copy = UnsafeMutableRawPointer.allocate(byteCount: key.count, alignment: 1)
      unsafe column.withBytes(at: position) {
        unsafe UnsafeMutableRawBufferPointer(start: copy, count: key.count).copyMemory(from: $0)
      }
      low = UInt64(UInt(bitPattern: copy))
      longKeyBytes += key.count
    }
    let group = hash &>> 57
    let header = group &<< Header.groupShift | Header.absent | Header.referenced
    unsafe entry.storeBytes(of: header, as: UInt64.self)
    unsafe entry.storeBytes(of: low, toByteOffset: 8, as: UInt64.self)
    unsafe entry.storeBytes(of: key.high, toByteOffset: 16, as: UInt64.self)
    return slot
  }

  private func addSlab() {
    if slabCount == slabRoom {
      let larger = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: slabRoom * 2)
      unsafe larger.update(from: slabs, count: slabCount)
      unsafe slabs.deallocate()
      unsafe slabs = larger
      slabRoom *= 2
    }
    unsafe slabs[slabCount] = Pages.allocate(slabBytes, large: slabCount > 0)
    slabCount += 1
  }

  /// Runs `body` on the bytes of the entry's key.
  @inlinable
  @inline(__always)
  static func withKey<R>(
    _ entry: UnsafeMutableRawPointer, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    let high = unsafe entry.load(fromByteOffset: 16, as: UInt64.self)
    if high &>> 56 != 0xFF {
      let count = Int(truncatingIfNeeded: high &>> 56)
      return try unsafe body(UnsafeRawBufferPointer(start: entry + 8, count: count))
    }
    let place = unsafe entry.load(fromByteOffset: 8, as: UInt.self)
    let count = Int(UInt32(truncatingIfNeeded: high))
    return try unsafe body(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: place), count: count))
  }
}

// MARK: - Growing and shrinking

extension KeyTable {
  /// Doubles the index until it is at most half full with `wanted` entries. The tag holds the bits that place a cell,
  /// so no entry is touched, and cells move in order.
  private func growIndex(toHold wanted: Int) {
    var room = cellCount
    while wanted * 2 > room { room *= 2 }
    unsafe rebuildIndex(room) { _ in true }
  }

  private func rebuildIndex(_ room: Int, keeping keep: (UnsafeMutableRawPointer) -> Bool) {
    let newCells = unsafe Pages.allocate(room * 8, large: room >= 1 << 18).bindMemory(to: UInt64.self, capacity: room)
    let mask = UInt64(truncatingIfNeeded: room &- 1)
    for index in 0..<cellCount {
      let cell = unsafe cells[index]
      if cell == 0 { continue }
      let slot = Int(truncatingIfNeeded: cell & 0xFFFF_FFFF) &- 1
      guard unsafe keep(pointer(slot)) else { continue }
      var place = cell &>> 32 & mask
      while unsafe newCells[Int(truncatingIfNeeded: place)] != 0 { place = (place &+ 1) & mask }
      unsafe newCells[Int(truncatingIfNeeded: place)] = cell
    }
    unsafe Pages.free(cells, cellCount * 8)
    unsafe cells = newCells
    cellCount = room
  }

  /// Frees entry `slot`, whose value is already deinitialised. `dropFreed` must follow before the next look-up.
  func release(_ slot: Int) {
    let entry = unsafe pointer(slot)
    unsafe freeLongKey(entry)
    unsafe entry.storeBytes(of: Header.free, as: UInt64.self)
    freeSlots.append(UInt32(truncatingIfNeeded: slot))
    count -= 1
  }

  /// Takes freed entries out of the index.
  func dropFreed() { unsafe rebuildIndex(cellCount) { unsafe Self.header($0) & Header.free == 0 } }

  private func freeLongKey(_ entry: UnsafeMutableRawPointer) {
    let high = unsafe entry.load(fromByteOffset: 16, as: UInt64.self)
    guard high &>> 56 == 0xFF else { return }
    longKeyBytes -= Int(UInt32(truncatingIfNeeded: high))
    unsafe UnsafeMutableRawPointer(bitPattern: entry.load(fromByteOffset: 8, as: UInt.self))?.deallocate()
  }
}
