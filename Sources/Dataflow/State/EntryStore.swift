public import Bytes

/// The entries of the keys' maps, or lists: each is a row of its own, so that a large one never rewrites itself.
@usableFromInline
final class EntryStore<Value>: CallPart {
  @usableFromInline let store: AgedStore<Value>
  @usableFromInline let cursor: CallCursor
  /// The owner's part of the composite key, then the entry's.
  @usableFromInline var key = ByteBuffer(capacity: 64)
  @usableFromInline var ownerCount = 0
  @usableFromInline var ownerHash = KeyHash(value: 0)
  @usableFromInline var ownerCall: UInt64 = .max
  @usableFromInline var column = KeyColumn(capacity: 1)
  @usableFromInline var page = StatePage()

  @usableFromInline
  init(_ store: AgedStore<Value>) {
    self.store = store
    cursor = store.cursor
    store.state.keepsOrder()
  }

  @usableFromInline func prepare(_ keys: borrowing KeyColumn, _ range: Range<Int>) {}
  @usableFromInline func undo(_ call: UInt64) { store.undo(call) }

  /// Puts the call's key in front.
  @usableFromInline
  func selectOwner() {
    if unsafe ownerCall == cursor.call {
      key.truncate(to: ownerCount)
      return
    }
    ownerCall = unsafe cursor.call
    key.removeAll()
    guard let keys = unsafe cursor.keys else { return }
    unsafe keys.pointee.withBytes(at: cursor.index) { unsafe CompositeKey.appendOwner($0, to: &key) }
    ownerHash = unsafe keys.pointee.hash(at: cursor.index)
    ownerCount = key.count
  }

  /// Makes the entry whose own key is `entry` the prepared one, number 0.
  @inlinable
  func select<Entry: KeyEncodable>(_ entry: Entry) throws {
    selectOwner()
    entry.encodeKey(into: &key)
    try prepareSelected()
  }

  @usableFromInline
  func prepareSelected() throws {
    let hash = unsafe CompositeKey.hash(owner: ownerHash, entry: key.bytes.slice(ownerCount, key.count - ownerCount))
    column.removeAll()
    unsafe column.append(key.bytes, hash: hash)
    try store.state.prepare(column, 0..<1)
  }

  @inlinable
  func value<Entry: KeyEncodable>(_ entry: Entry) throws -> Value? {
    try select(entry)
    return store.value(at: 0)
  }

  @inlinable
  func change<Entry: KeyEncodable, R>(_ entry: Entry, _ body: (inout Value?) throws -> R) throws -> R {
    try select(entry)
    return try store.change(at: 0, body)
  }
}

/// Where a walk over a key's entries stands.
@usableFromInline
struct EntryWalk: ~Copyable {
  /// Key group, owner, entry: what is left is from `lower` on, before `upper`.
  @usableFromInline var lower: ByteBuffer
  @usableFromInline var upper: ByteBuffer
  @usableFromInline let isReversed: Bool
  @usableFromInline var isDone = false
  @usableFromInline let ownerCount: Int

  init(lower: consuming ByteBuffer, upper: consuming ByteBuffer, isReversed: Bool, ownerCount: Int) {
    self.lower = lower
    self.upper = upper
    self.isReversed = isReversed
    self.ownerCount = ownerCount
  }

  /// Goes on behind `key`, which lacks the key group.
  mutating func moveBehind(_ key: UnsafeRawBufferPointer) {
    if isReversed {
      upper.truncate(to: 1)
      unsafe upper.append(key)
    } else {
      lower.truncate(to: 1)
      unsafe lower.append(key)
      lower.append(0 as UInt8)
    }
  }
}

extension EntryStore {
  /// A walk over the call's entries from `lower` on, before `upper` (nil: all), or backwards.
  @inlinable
  func walk<Entry: KeyEncodable>(from lower: Entry?, before upper: Entry?, reversed: Bool) -> EntryWalk {
    selectOwner()
    if let lower { lower.encodeKey(into: &key) }
    let start = copyKey()
    selectOwner()
    if let upper { upper.encodeKey(into: &key) }
    let end = copyKey()
    return walk(start, end, isOpen: upper == nil, reversed)
  }

  @usableFromInline
  func copyKey() -> ByteBuffer {
    var copy = ByteBuffer(capacity: key.count + 2)
    copy.append(UInt8(truncatingIfNeeded: ownerHash.keyGroup))
    unsafe copy.append(key.bytes)
    return copy
  }

  @usableFromInline
  func walk(
    _ lower: consuming ByteBuffer, _ upper: consuming ByteBuffer, isOpen: Bool, _ reversed: Bool
  ) -> EntryWalk {
    if isOpen { CompositeKey.makeUpperBound(&upper) }
    return EntryWalk(lower: lower, upper: upper, isReversed: reversed, ownerCount: ownerCount)
  }

  /// Calls `take` with up to about `limit` further visible entries: the entry's own key and its value. `take` must not
  /// use the store.
  @usableFromInline
  func next(
    _ walk: inout EntryWalk, limit: Int, _ take: (UnsafeRawBufferPointer, Value) throws -> Void
  ) throws {
    if let lookup = store.lookup {
      try unsafe lookup.page(
        from: walk.lower.bytes, to: walk.upper.bytes, reversed: walk.isReversed, limit: limit, into: &page)
    }
    let order = store.state.changesInOrder()
    let lower = unsafe walk.lower.bytes.slice(1, walk.lower.count - 1)
    let upper = unsafe walk.upper.bytes.slice(1, walk.upper.count - 1)
    var place = unsafe order.place(atLeast: walk.isReversed ? upper : lower)
    if walk.isReversed { place = order.previous(place) }
    var last = ByteBuffer(capacity: 64)
    var row = 0
    var count = 0
    var isDone = false
    while count < limit {
      let change = unsafe order.entry(place, from: lower, before: upper)
      if unsafe row == page.rows.count && (page.isCut || change == nil) {
        isDone = !page.isCut
        break
      }
      // Which comes first; a change hides the row of its key.
      var comparison = row == page.rows.count ? -1 : 1
      if let change = unsafe change, row < page.rows.count {
        comparison = unsafe KeyTable.withKey(change) { unsafe $0.compare(page.key(row)) }
        if walk.isReversed { comparison = -comparison }
      }
      last.removeAll()
      if let change = unsafe change, comparison <= 0 {
        unsafe KeyTable.withKey(change) { unsafe last.append($0) }
        if let aged = unsafe KeyedState<Aged<Value>>.value(change).pointee, store.isVisible(aged.stamp) {
          try unsafe take(last.bytes.slice(walk.ownerCount, last.count - walk.ownerCount), aged.value)
          count += 1
        }
        place = walk.isReversed ? order.previous(place) : order.next(place)
        if comparison == 0 { row += 1 }
      } else {
        unsafe last.append(page.key(row))
        let aged = try unsafe store.decode(page.value(row))
        if store.isVisible(aged.stamp) {
          try unsafe take(last.bytes.slice(walk.ownerCount, last.count - walk.ownerCount), aged.value)
          count += 1
        }
        row += 1
      }
    }
    walk.isDone = isDone
    if !isDone && last.count > 0 { unsafe walk.moveBehind(last.bytes) }
  }
}

extension KeyedState {
  /// From now on changes can be had in the order of their keys.
  func keepsOrder() { if order == nil { order = ChangeOrder() } }

  /// What changed and is not in the backing yet, in the order of keys.
  func changesInOrder() -> ChangeOrder {
    let order = order ?? ChangeOrder()
    self.order = order
    unsafe order.update(table.dirty, table.dirtyCount)
    return order
  }
}

extension ChangeOrder {
  /// The entry at `place` if its key is in the range.
  func entry(
    _ place: Place, from lower: UnsafeRawBufferPointer, before upper: UnsafeRawBufferPointer
  ) -> UnsafeMutableRawPointer? {
    guard let entry = unsafe entry(place) else { return nil }
    let isInside = unsafe KeyTable.withKey(entry) { unsafe $0.compare(lower) >= 0 && $0.compare(upper) < 0 }
    return unsafe isInside ? entry : nil
  }
}
