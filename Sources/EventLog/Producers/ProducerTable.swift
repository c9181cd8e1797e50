import Bytes

/// What is known of the idempotent producers of a topic, per partition: decides what an append may do.
///
/// Decisions within one transaction are staged: `commit` keeps them, `abort` forgets them.
///
/// Bounded: beyond `limit` producers, counted per partition in which they appended and once for a name, those that did
/// nothing for `expiry` are forgotten; while there are none of these, new ones are refused.
struct ProducerTable {
  struct Key: Hashable {
    var partition: Int
    var producer: UInt64
  }

  /// Records that one producer appended one behind the other: so long their sequences and offsets go side by side.
  struct Stretch: Equatable {
    var sequence: Int64
    var count: Int64
    var offset: Int64
  }

  struct Entry: Equatable {
    /// How many stretches are remembered.
    static let maximumStretches = 5

    var epoch: UInt32
    var lastSequence: Int64
    /// The offset of the record with the last sequence number.
    var lastOffset: Int64
    /// When it last appended, µs.
    var usedAt: Int64 = 0
    /// The last ones, oldest first.
    var stretches: [Stretch] = []

    /// Takes into account `count` records from `sequence` on, which begin at `offset`.
    mutating func add(_ sequence: Int64, _ count: Int, at offset: Int64) {
      lastSequence = sequence + Int64(count) - 1
      lastOffset = offset + Int64(count) - 1
      if let last = stretches.last, last.sequence + last.count == sequence, last.offset + last.count == offset {
        stretches[stretches.count - 1].count += Int64(count)
      } else {
        if stretches.count == Self.maximumStretches { stretches.removeFirst() }
        stretches.append(Stretch(sequence: sequence, count: Int64(count), offset: offset))
      }
    }

    /// Where `count` records from `sequence` on are; nil if that is not known any more, or they do not lie together.
    func offset(of sequence: Int64, _ count: Int) -> Int64? {
      for stretch in stretches
      where sequence >= stretch.sequence && sequence + Int64(count) <= stretch.sequence + stretch.count {
        return stretch.offset + sequence - stretch.sequence
      }
      return nil
    }
  }

  /// A producer that was opened by its name.
  struct Registration: Equatable {
    var name: String
    var epoch: UInt32
    /// When it was opened, µs.
    var openedAt: Int64
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
  /// Of records that are in the topic's journal and not yet in a segment.
  private(set) var journaled: [Key: Entry] = [:]
  private(set) var registrations: [UInt64: Registration] = [:]
  private let limit: Int
  /// In µs.
  private let expiry: Int64
  /// Nothing expires before that time, as far as was looked.
  private var nextExpiry = Int64.min

  init(
    _ entries: [Key: Entry] = [:], registrations: [UInt64: Registration] = [:], limit: Int = .max, expiry: Int64 = .max
  ) {
    self.entries = entries
    self.registrations = registrations
    self.limit = limit
    self.expiry = expiry
  }

  subscript(_ key: Key) -> Entry? { staged[key] ?? journaled[key] ?? entries[key] }

  /// What to do with `count` records numbered from `sequence` on. The first of a new producer or epoch is 0.
  func decide(_ key: Key, epoch: UInt32, sequence: Int64, count: Int) -> Decision {
    if let newest = registrations[key.producer]?.epoch, newest > epoch { return .fenced(by: newest) }
    guard let entry = self[key], entry.epoch >= epoch else {
      return sequence == 0 ? .append(dropping: 0) : .gap(expected: 0)
    }
    if entry.epoch > epoch { return .fenced(by: entry.epoch) }
    if sequence > entry.lastSequence + 1 { return .gap(expected: entry.lastSequence + 1) }
    let known = entry.lastSequence + 1 - sequence
    return known >= Int64(count) ? .repeated : .append(dropping: Int(known))
  }

  mutating func stage(_ key: Key, _ entry: Entry) { staged[key] = entry }

  /// Takes into account a batch of `producer` in `partition`: `count` records from `sequence` on, at `offset`.
  mutating func stage(
    _ producer: ProducerID, _ partition: Int, _ sequence: Int64, _ count: Int, at offset: Int64, _ now: Int64
  ) {
    let key = Key(partition: partition, producer: producer.id)
    var entry = Entry(epoch: producer.epoch, lastSequence: -1, lastOffset: -1)
    if let known = self[key], known.epoch == producer.epoch { entry = known }
    entry.add(sequence, count, at: offset)
    entry.usedAt = now
    stage(key, entry)
  }

  /// As `stage`, for a batch that is written already.
  mutating func note(_ header: BatchHeader) {
    if header.sequence < 0 { return }
    stage(
      ProducerID(id: header.producer, epoch: header.epoch), header.partition, header.sequence, header.count,
      at: header.firstOffset, header.appendedAt)
  }

  mutating func commit() {
    if !journaled.isEmpty {
      entries.merge(journaled) { _, new in new }
      journaled = [:]
    }
    if staged.isEmpty { return }
    entries.merge(staged) { _, new in new }
    staged = [:]
  }

  /// What was staged is in the journal: kept whatever becomes of later appends, and in a segment with the next commit.
  mutating func keepInJournal() {
    if staged.isEmpty { return }
    journaled.merge(staged) { _, new in new }
    staged = [:]
  }

  mutating func abort() { staged = [:] }

  // MARK: Names

  /// The next epoch of a producer; nil if there are no more.
  func nextEpoch(_ producer: UInt64) -> UInt32? {
    var last = registrations[producer]?.epoch
    if last == nil { last = entries.lazy.filter { $0.key.producer == producer }.map(\.value.epoch).max() }
    guard let last else { return 0 }
    return last == .max ? nil : last + 1
  }

  mutating func register(_ producer: UInt64, _ registration: Registration) { registrations[producer] = registration }

  // MARK: The bound

  /// Whether one more can be remembered at `now`, forgetting old ones if need be.
  mutating func hasRoom(at now: Int64) -> Bool {
    if entries.count + staged.count + journaled.count + registrations.count < limit { return true }
    if now <= nextExpiry { return false }
    let oldest = now.saturatingSubtract(expiry)
    nextExpiry = .max
    var remaining: Set<UInt64> = []
    for (key, entry) in entries {
      if entry.usedAt < oldest && staged[key] == nil && journaled[key] == nil {
        entries[key] = nil
      } else {
        remaining.insert(key.producer)
        nextExpiry = min(nextExpiry, entry.usedAt.saturatingAdd(expiry))
      }
    }
    for (producer, registration) in registrations where !remaining.contains(producer) {
      if registration.openedAt < oldest {
        registrations[producer] = nil
      } else {
        nextExpiry = min(nextExpiry, registration.openedAt.saturatingAdd(expiry))
      }
    }
    return entries.count + staged.count + journaled.count + registrations.count < limit
  }
}
