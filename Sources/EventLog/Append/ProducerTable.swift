/// What an idempotent append did.
public struct IdempotentResult: Sendable, Hashable {
  /// The offsets of the records that were appended now; empty if all were repeats.
  public var positions: Range<Int64>
  public var partition: Int
  /// How many records were there already.
  public var repeated: Int
}

/// The last sequence number of every idempotent producer, per partition: decides what an append may do.
///
/// Decisions within one transaction are staged: `commit` keeps them, `abort` forgets them.
struct ProducerTable {
  struct Key: Hashable {
    var partition: Int
    var producer: UInt64
  }

  struct Entry: Equatable {
    var epoch: UInt32
    var lastSequence: Int64
    /// The offset of the record with the last sequence number.
    var lastOffset: Int64
  }

  enum Decision: Equatable {
    /// Append all but the first `dropping` records, which are there.
    case append(dropping: Int)
    case repeated
    case gap(expected: Int64)
    case fenced(by: UInt32)
  }

  private(set) var entries: [Key: Entry] = [:]
  private(set) var staged: [Key: Entry] = [:]

  init(_ entries: [Key: Entry] = [:]) { self.entries = entries }

  /// What to do with `count` records numbered from `sequence` on. The first of a new producer or epoch is 0.
  func decide(_ key: Key, epoch: UInt32, sequence: Int64, count: Int) -> Decision {
    guard let entry = staged[key] ?? entries[key], entry.epoch >= epoch else {
      return sequence == 0 ? .append(dropping: 0) : .gap(expected: 0)
    }
    if entry.epoch > epoch { return .fenced(by: entry.epoch) }
    if sequence > entry.lastSequence + 1 { return .gap(expected: entry.lastSequence + 1) }
    let known = entry.lastSequence + 1 - sequence
    return known >= Int64(count) ? .repeated : .append(dropping: Int(known))
  }

  mutating func stage(_ key: Key, _ entry: Entry) { staged[key] = entry }

  mutating func commit() {
    if staged.isEmpty { return }
    entries.merge(staged) { _, new in new }
    staged = [:]
  }

  mutating func abort() { staged = [:] }
}
