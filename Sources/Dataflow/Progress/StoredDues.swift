import Bytes
import LMDB
import Tables

/// What earlier runs left waiting in a state's table, whose keys have their number in front: read, group by group, as
/// far as it is due and not before.
@usableFromInline
final class StoredDues {
  private struct Group {
    let number: Int
    /// The least number not taken yet, and the greatest that an earlier run left.
    var next: Int64
    let last: Int64
  }

  private let name: String
  private let table: TableID
  private let space: TableSpace
  private let snapshot: StateSnapshot
  private let width: Int
  /// The width of a second number, behind the first; 0: there is none.
  private let innerWidth: Int
  private var groups: [Group] = []
  /// The least number not taken yet; nil: all were.
  private(set) var earliest: Int64?

  /// Looks at both ends of each group's rows, no further: what lies between costs nothing.
  init(
    _ name: String, _ table: TableID, _ space: TableSpace, _ snapshot: StateSnapshot, groups range: Range<Int>,
    width: Int, innerWidth: Int = 0
  ) throws {
    self.name = name
    self.table = table
    self.space = space
    self.snapshot = snapshot
    self.width = width
    self.innerWidth = innerWidth
    groups = try snapshot.read { transaction in
      let reader = try space.reader(table, in: transaction)
      var found: [Group] = []
      if reader.isEmpty { return found }
      for group in range {
        var ends: [Int64] = []
        for reverse in [false, true] {
          unsafe try withBounds(of: group) { start, end in
            try unsafe reader.forEach(from: start, to: end, reverse: reverse, in: transaction) { key, _ in
              ends.append(try unsafe number(key))
              return false
            }
          }
        }
        if ends.count == 2 { found.append(Group(number: group, next: ends[0], last: ends[1])) }
      }
      return found
    }
    // An idle subtask pins nothing.
    snapshot.renew()
    earliest = groups.lazy.map(\.next).min()
  }

  private func number(_ key: UnsafeRawBufferPointer) throws -> Int64 {
    guard key.count > width + innerWidth else {
      throw DataflowError(.damaged, name, "a key of its table is too short; restore the store from a backup")
    }
    return unsafe KeyColumn.number(key.slice(1, width), width: width)
  }

  private func withBounds(
    of group: Int, from number: Int64 = .min, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws -> Void
  ) throws {
    var start = ByteBuffer(capacity: 16)
    start.append(UInt8(group))
    if number > .min {
      let ordered = KeyColumn.ordered(number, width: width) << UInt64(64 - 8 * width)
      start.append(bigEndian: ordered)
    }
    var end = ByteBuffer(capacity: 16)
    if group < 255 { end.append(UInt8(group + 1)) }
    try unsafe body(start.bytes, group < 255 ? end.bytes : nil)
  }

  /// Moves everything with a number up to `limit` into `index`; `once`: without keys that it has already.
  func take(upTo limit: Int64, into index: DueIndex, once: Bool = false) throws {
    var seen: [Int64: KeyedState<UInt8>] = [:]
    var isDone: Set<Int> = []
    try snapshot.read { transaction in
      let reader = try space.reader(table, in: transaction)
      for place in groups.indices where groups[place].next <= limit {
        let group = groups[place]
        // Rows of this run may lie between and behind; those behind do not concern us.
        var following: Int64?
        unsafe try withBounds(of: group.number, from: group.next) { start, end in
          try unsafe reader.forEach(from: start, to: end, in: transaction) { key, _ in
            let number = try unsafe number(key)
            if number > min(limit, group.last) {
              if number <= group.last { following = number }
              return false
            }
            let bytes = unsafe key.slice(1, key.count - 1)
            let hash = unsafe hash(bytes, number)
            let waiting = index.keys(of: number)
            if once {
              unsafe try add(bytes, hash, to: waiting, &seen[number])
            } else {
              unsafe waiting.keys.append(bytes, hash: hash)
            }
            return true
          }
        }
        if let following {
          groups[place].next = following
        } else {
          isDone.insert(group.number)
        }
      }
    }
    groups.removeAll { isDone.contains($0.number) }
    earliest = groups.lazy.map(\.next).min()
  }

  /// The hash that the key has in memory.
  private func hash(_ bytes: UnsafeRawBufferPointer, _ number: Int64) -> KeyHash {
    let front = width + innerWidth
    var hash = unsafe KeyHash(bytes.slice(front, bytes.count - front))
    if innerWidth > 0 {
      let inner = unsafe KeyColumn.number(bytes.slice(width, innerWidth), width: innerWidth)
      hash = hash.withNamespace(KeyColumn.ordered(inner, width: innerWidth))
    }
    return hash.withNamespace(KeyColumn.ordered(number, width: width))
  }

  private func add(
    _ bytes: UnsafeRawBufferPointer, _ hash: KeyHash, to waiting: DueIndex.Waiting, _ seen: inout KeyedState<UInt8>?
  ) throws {
    let known: KeyedState<UInt8>
    if let seen {
      known = seen
    } else {
      known = KeyedState(backing: MemoryBacking())
      try known.update(waiting.keys, 0..<waiting.keys.count) { _, value in value = 1 }
      seen = known
    }
    var key = KeyColumn()
    unsafe key.append(bytes, hash: hash)
    try known.update(key, 0..<1) { _, value in
      if value == nil { waiting.keys.append(from: key, at: 0) }
      value = 1
    }
  }
}

extension OperatorContext {
  /// An index of the state called `name`, whose keys have a number of `width` bytes in front.
  @usableFromInline
  func dueIndex(of name: String, width: Int, innerWidth: Int = 0) throws -> DueIndex {
    let stored = try StoredDues(
      name, try table(of: name), checkpoints.tables, snapshot, groups: keyGroups, width: width,
      innerWidth: innerWidth)
    return DueIndex(stored.earliest == nil ? nil : stored)
  }
}
