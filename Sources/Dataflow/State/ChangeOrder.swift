import Bytes

/// The entries of a keyed state that were changed and cannot be read from its backing yet, in the order of their keys:
/// what a range read lays over the table.
///
/// Costs nothing until a range is read but a list of each epoch's changes: they are sorted in when they are needed.
/// Entries that wait for a commit are never evicted, so the pointers hold until `forget`.
@safe
final class ChangeOrder {
  /// Sorted pieces of at most `pieceLimit`, so that one more entry moves few.
  private var pieces: [[UnsafeMutableRawPointer]] = unsafe []
  private var waiting: [UnsafeMutableRawPointer] = unsafe []
  /// How many of the open epoch's changes were sorted in.
  private var taken = 0
  private(set) var count = 0

  private static let pieceLimit = 512

  /// The open epoch ends: `changed` are its changes.
  func seal(_ changed: UnsafeMutablePointer<UnsafeMutableRawPointer>, _ count: Int) {
    for index in taken..<max(taken, count) { unsafe waiting.append(changed[index]) }
    taken = 0
  }

  /// Sorts in what changed since the last call, of sealed epochs and of the open one.
  func update(_ changed: UnsafeMutablePointer<UnsafeMutableRawPointer>, _ count: Int) {
    for index in taken..<max(taken, count) { unsafe waiting.append(changed[index]) }
    taken = count
    let fresh = unsafe waiting
    if unsafe fresh.isEmpty { return }
    unsafe waiting = []
    if unsafe fresh.count > 32 && fresh.count > self.count / 8 {
      unsafe rebuild(adding: fresh)
    } else {
      for index in unsafe fresh.indices { unsafe insert(fresh[index]) }
    }
  }

  /// Epochs up to `epoch` can be read from the backing.
  func forget(upTo epoch: UInt64) {
    let isKept = { (entry: UnsafeMutableRawPointer) in
      unsafe KeyTable.header(entry) &>> KeyTable.Header.epochShift > epoch
    }
    unsafe waiting.removeAll { unsafe !isKept($0) }
    // Taken ones of the open epoch are all kept: their epoch is newer.
    var kept: [[UnsafeMutableRawPointer]] = unsafe []
    count = 0
    for index in unsafe pieces.indices {
      let piece = unsafe pieces[index].filter { unsafe isKept($0) }
      if unsafe piece.isEmpty { continue }
      unsafe count += piece.count
      unsafe kept.append(piece)
    }
    unsafe pieces = kept
  }

  // MARK: Reading

  struct Place: Equatable {
    var piece: Int
    var index: Int
  }

  /// The place of the first entry whose key is not below `key`; behind the last one there may be none.
  func place(atLeast key: UnsafeRawBufferPointer) -> Place {
    // The first piece whose last key is not below.
    var low = 0
    var high = unsafe pieces.count
    while low < high {
      let middle = (low + high) / 2
      let last = unsafe pieces[middle][pieces[middle].count - 1]
      if unsafe KeyTable.withKey(last, { unsafe $0.compare(key) }) < 0 { low = middle + 1 } else { high = middle }
    }
    if unsafe low == pieces.count { return Place(piece: low, index: 0) }
    return unsafe Place(piece: low, index: index(in: low, atLeast: key))
  }

  /// The entry at `place`, or nil behind the last and before the first.
  func entry(_ place: Place) -> UnsafeMutableRawPointer? {
    guard place.piece >= 0, unsafe place.piece < pieces.count else { return nil }
    return unsafe pieces[place.piece][place.index]
  }

  func next(_ place: Place) -> Place {
    if unsafe place.index + 1 < pieces[place.piece].count { return Place(piece: place.piece, index: place.index + 1) }
    return Place(piece: place.piece + 1, index: 0)
  }

  func previous(_ place: Place) -> Place {
    if place.index > 0 { return Place(piece: place.piece, index: place.index - 1) }
    if place.piece == 0 { return Place(piece: -1, index: 0) }
    return Place(piece: place.piece - 1, index: unsafe pieces[place.piece - 1].count - 1)
  }

  // MARK: Sorting in

  private func index(in piece: Int, atLeast key: UnsafeRawBufferPointer) -> Int {
    var low = 0
    var high = unsafe pieces[piece].count
    while low < high {
      let middle = (low + high) / 2
      let order = unsafe KeyTable.withKey(pieces[piece][middle]) { unsafe $0.compare(key) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func insert(_ entry: UnsafeMutableRawPointer) {
    unsafe KeyTable.withKey(entry) { key in
      var place = unsafe place(atLeast: key)
      if let found = unsafe self.entry(place), unsafe found == entry { return }
      if unsafe place.piece == pieces.count {
        if place.piece == 0 {
          unsafe pieces.append([])
        } else {
          place = unsafe Place(piece: pieces.count - 1, index: pieces[pieces.count - 1].count)
        }
      }
      unsafe pieces[place.piece].insert(entry, at: place.index)
      count += 1
      let size = unsafe pieces[place.piece].count
      if size > Self.pieceLimit {
        let upper = unsafe Array(pieces[place.piece][(size / 2)...])
        unsafe pieces[place.piece].removeLast(size - size / 2)
        unsafe pieces.insert(upper, at: place.piece + 1)
      }
    }
  }

  private func rebuild(adding fresh: [UnsafeMutableRawPointer]) {
    var all = unsafe Set(fresh)
    for index in unsafe pieces.indices { unsafe all.formUnion(pieces[index]) }
    let sorted = unsafe all.sorted { left, right in
      unsafe KeyTable.withKey(left) { key in unsafe KeyTable.withKey(right) { unsafe key.compare($0) < 0 } }
    }
    count = unsafe sorted.count
    unsafe pieces = []
    let half = Self.pieceLimit / 2
    for start in unsafe Swift.stride(from: 0, to: sorted.count, by: half) {
      unsafe pieces.append(Array(sorted[start..<min(start + half, sorted.count)]))
    }
  }
}
