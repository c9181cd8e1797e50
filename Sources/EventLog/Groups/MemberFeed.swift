import Bytes

/// Reads the partitions that a member has: follows their coming and going, finds where to begin, applies the policies.
// Invariant of `@unchecked Sendable`: one consumer owns it and awaits each call; what runs on the reader's thread runs
// while the consumer waits for it.
final class MemberFeed: @unchecked Sendable {
  struct Part: Sendable {
    var generation: UInt64
    /// The next offset to be read.
    var next: Int64
    /// The first offset that is not wanted any more.
    var limit: Int64
    /// Offsets behind `next` that need not be read.
    var finished: OffsetRanges
    var isPaused = false
  }

  /// What has changed since the last look.
  struct Changes {
    var begun: [Int: Part] = [:]
    /// To be released, with their generations: all that are, not only the new ones.
    var revoked: [Int: UInt64] = [:]
    /// Taken away, or had in an earlier generation.
    var lost: [Int] = []
  }

  /// Takes what it wants of a batch and returns the next offset to be read.
  typealias Consume = @Sendable (LogBatch, Part) -> Int64

  let subscription: Subscription
  private(set) var parts: [Int: Part] = [:]
  private var reader: LogReader?
  private var seenVersion = -1
  private var notedDamages = 0

  init(_ subscription: Subscription) { self.subscription = subscription }

  private var state: TopicState { subscription.topic.state }
  private var shared: TopicGroup { subscription.shared }

  // MARK: Partitions

  /// Looks what the member has; finds where to begin in what is new.
  func follow() async throws -> Changes {
    var changes = Changes()
    let version = shared.version
    if version == seenVersion { return changes }
    let holdings = try shared.holdings(of: subscription.id)
    for (partition, part) in parts {
      let holding = holdings[partition]
      if holding?.generation != part.generation {
        changes.lost.append(partition)
        drop(partition)
      } else if holding?.isRevoked == true {
        drop(partition)
      }
    }
    var isBegun = true
    for (partition, holding) in holdings where parts[partition] == nil {
      if holding.isRevoked {
        changes.revoked[partition] = holding.generation
        continue
      }
      do {
        changes.begun[partition] = try await begin(partition, holding.generation)
      } catch let error as EventLogError where error.code == .commitFenced {
        // It went over to another member while we looked where to begin.
        isBegun = false
      }
    }
    if isBegun { seenVersion = version }
    return changes
  }

  private func drop(_ partition: Int) {
    parts[partition] = nil
    reader?.nextOffsets[partition] = -1
  }

  private func begin(_ partition: Int, _ generation: UInt64) async throws -> Part {
    if shared.place(partition) == nil {
      let offset = try await onReaderThread { try self.resolveStart(partition) }
      try await subscription.commit([
        TopicGroup.Commit(partition: partition, generation: generation, offset: offset, isStart: true)
      ])
    }
    guard let place = shared.place(partition) else {
      throw EventLogError(.closed, "the subscription was closed", topic: state.name, partition: partition)
    }
    let part = Part(
      generation: generation, next: place.next, limit: subscription.limits?[partition] ?? .max,
      finished: place.finished)
    parts[partition] = part
    do {
      let range = try state.snapshot().range(partition)
      if part.next < range.lowerBound || part.next > range.upperBound {
        try await jump(partition, from: part.next, range)
      }
      activate(partition)
    } catch {
      parts[partition] = nil
      throw error
    }
    return parts[partition] ?? part
  }

  private func resolveStart(_ partition: Int) throws -> Int64 {
    let range = try state.snapshot().range(partition)
    switch subscription.options.start {
    case .earliest: return range.lowerBound
    case .latest: return range.upperBound
    case .offset(let offset): return offset
    case .time(let time):
      let lookup = TimeLookup(state: state, partition: partition, timestamp: time.microseconds)
      return try lookup.run() ?? range.upperBound
    }
  }

  /// Goes on elsewhere, if the policy allows it, and commits that.
  private func jump(_ partition: Int, from offset: Int64, _ range: Range<Int64>) async throws {
    let target: Int64
    switch subscription.options.outOfRange {
    case .fail: throw EventLogError.offsetOutOfRange(offset, range, topic: state.name, partition: partition)
    case .earliest: target = range.lowerBound
    case .latest: target = range.upperBound
    }
    guard var part = parts[partition] else { return }
    try await subscription.commit([
      TopicGroup.Commit(partition: partition, generation: part.generation, offset: target, isReset: true)
    ])
    part.next = target
    part.finished.removeAll(below: target)
    parts[partition] = part
    subscription.note(
      OffsetJump(topic: state.name, partition: partition, from: offset, to: target, validRange: range))
  }

  // MARK: Reading

  /// The offset that is read next in `partition`.
  func next(_ partition: Int) -> Int64? { parts[partition]?.next }

  /// Goes on with a partition of which a consumer did not want more.
  func resume(_ partition: Int) {
    guard parts[partition]?.isPaused == true else { return }
    parts[partition]?.isPaused = false
    activate(partition)
  }

  /// Nothing is read of the partition until it is resumed.
  func pause(_ partition: Int) {
    guard parts[partition]?.isPaused == false else { return }
    parts[partition]?.isPaused = true
    reader?.nextOffsets[partition] = -1
  }

  /// Whether partitions may have come or gone since the last `follow`.
  var isBehind: Bool { shared.version != seenVersion }

  /// Whether everything is read that was to be read, and no partition is on its way here: never, if it tails. Holds
  /// only if the feed is not behind afterwards.
  var isAtEnd: Bool { parts.values.allSatisfy { $0.next >= $0.limit } && !shared.isWaiting(subscription.id) }

  private func activate(_ partition: Int) {
    // The reader finds its place anew, from the earliest of what it reads.
    guard let part = parts[partition], let reader, !part.isPaused, part.next < part.limit else { return }
    reader.nextOffsets[partition] = part.next
    reader.place = nil
  }

  /// Gives what comes next, about `maxBytes` of it, to `consume` on the reader's thread; returns whether there was
  /// anything.
  func read(maxBytes: Int, _ consume: @escaping Consume) async throws -> Bool {
    while true {
      do {
        return try await onReaderThread { try self.readSome(maxBytes, consume) }
      } catch let error as EventLogError where error.code == .offsetOutOfRange {
        guard let partition = error.partition, let part = parts[partition], let range = error.validRange else {
          throw error
        }
        try await jump(partition, from: part.next, range)
        activate(partition)
      }
    }
  }

  private func readSome(_ maxBytes: Int, _ consume: Consume) throws -> Bool {
    let active = parts.filter { !$0.value.isPaused && $0.value.next < $0.value.limit }
    if active.isEmpty { return false }
    let reader =
      try self.reader
      ?? LogReader(
        state, offsets: active.mapValues(\.next), damage: subscription.options.damage)
    self.reader = reader
    var isAny = false
    do {
      _ = try reader.scan(maxBytes: maxBytes) { batch in
        guard let part = parts[batch.partition], !part.isPaused else { return true }
        let next = consume(batch, part)
        isAny = true
        parts[batch.partition]?.next = next
        if next > batch.lastOffset && next < part.limit { return true }
        // The rest of the batch is read when it is wanted.
        if next < part.limit { parts[batch.partition]?.isPaused = true }
        return false
      }
    } catch {
      settle(reader)
      throw error
    }
    settle(reader)
    return isAny
  }

  /// Takes over how far the reader came, also over what it skipped.
  private func settle(_ reader: LogReader) {
    for (partition, part) in parts {
      if part.isPaused || part.next >= part.limit {
        reader.nextOffsets[partition] = -1
      } else if let position = reader.position(partition), position > part.next {
        parts[partition]?.next = position
      }
    }
    if reader.skipped.count > notedDamages {
      subscription.note(Array(reader.skipped[notedDamages...]))
      notedDamages = reader.skipped.count
    }
  }

  private func onReaderThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      state.core.onReaderThread { continuation.resume(with: Result { try body() }) }
    }
  }
}
