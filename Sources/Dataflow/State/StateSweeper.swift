import Bytes

/// Finds expired rows of a state's table, a part of it at each checkpoint, around and around.
///
/// It looks at twice as many rows as the epoch changed and at some at least, so that what has expired stays below about
/// half of what was ever live, whatever is read. After a whole round it rests until the oldest row seen can expire.
final class StateSweeper {
  private let lookup: StateLookup
  private let groups: Range<Int>
  private let ttl: StateTTL
  private let isComposite: Bool
  private let time: OperatorTime
  private let clock: ProcessingClock?
  private var group: Int
  /// Where in the group the next part begins.
  private var position = ByteBuffer(capacity: 64)
  private var oldest = Int64.max
  /// The stamp that must have expired before another round is worth it.
  private var restsUntil: Int64?
  private var page = StatePage()
  private var expired = KeyColumn()

  /// The rows that every checkpoint looks at, and the most.
  private static let rows = 512...16_384

  init(
    _ lookup: StateLookup, _ groups: Range<Int>, _ ttl: StateTTL, isComposite: Bool, _ time: OperatorTime,
    _ clock: ProcessingClock?
  ) {
    self.lookup = lookup
    self.groups = groups
    self.ttl = ttl
    self.isComposite = isComposite
    self.time = time
    self.clock = clock
    group = groups.lowerBound
  }

  /// Calls `remove` with keys of rows that have expired, and what tells it of a value in memory.
  func sweep(
    changed: Int, _ remove: (_ keys: borrowing KeyColumn, _ isExpired: (Int64) -> Bool) throws -> Void
  ) throws {
    guard !groups.isEmpty else { return }
    let (watermark, now) = (time.current, clock?.read() ?? .min)
    let isGone = { [ttl] (stamp: Int64) in ttl.isGone(stamp, watermark: watermark, now: now) }
    if let rest = restsUntil {
      // What this epoch wrote comes later than what was there, or is found in the next round.
      guard isGone(rest) else { return }
      restsUntil = nil
    }
    var budget = min(max(Self.rows.lowerBound, 2 * changed), Self.rows.upperBound)
    expired.removeAll()
    while budget > 0 {
      var lower = ByteBuffer(capacity: position.count + 1)
      lower.append(UInt8(truncatingIfNeeded: group))
      unsafe lower.append(position.bytes)
      // The whole subtask's rest in one read: most groups of a small state are empty.
      var upper = ByteBuffer(capacity: 1)
      upper.append(UInt8(truncatingIfNeeded: groups.upperBound))
      try unsafe lookup.page(
        from: lower.bytes, to: upper.bytes, reversed: false, limit: min(budget, 512), into: &page)
      budget -= max(1, page.rows.count)
      for row in page.rows.indices { try look(at: row, isGone) }
      if page.isCut { continue }
      position.removeAll()
      group = groups.lowerBound
      restsUntil = oldest == .max ? nil : oldest
      oldest = .max
      break
    }
    if expired.count > 0 { try remove(expired, isGone) }
  }

  private func look(at row: Int, _ isGone: (Int64) -> Bool) throws {
    let (key, value) = unsafe (page.key(row), page.value(row))
    guard value.count >= 9 else { return }
    let stamp = unsafe value.little(Int64.self, at: value.count - 8)
    if isGone(stamp) {
      unsafe expired.append(key, hash: isComposite ? CompositeKey.hash(of: key) : KeyHash(key))
    } else {
      oldest = min(oldest, stamp)
    }
    guard row == page.rows.count - 1 else { return }
    // The next part begins right behind this row.
    position.removeAll()
    unsafe position.append(key)
    position.append(0 as UInt8)
    group = page.group(row)
  }
}
