import Testing

@testable import EventLog

/// A consumer and its partitions, played step by step at random around a `DeliveryMachine`, and beside it a plain
/// record of what must hold: kept with lists and sets, without any of the machine's shortcuts.
struct DeliveryModel {
  struct LogEntry {
    var offset: Int64
    var key: UInt64?
    var bytes: Int
  }

  /// What the plain reference keeps of a partition.
  struct Reference {
    var log: [LogEntry]
    /// Where the log ends, behind records and holes.
    var end: Int64
    /// On disk: everything below, and these.
    var committed: Int64 = 0
    var committedExtra: Set<Int64> = []
    /// Finished since the start of the log, however often it crashed.
    var finished: Set<Int64> = []
    /// Finished in this run or known at its start.
    var finishedNow: Set<Int64> = []
    /// Of this run.
    var readTo: Int64 = 0
    var generation: UInt64 = 0
    var isOurs = false
    var admitted: [LogEntry] = []
    var repeats = 0
  }

  struct Running {
    var partition: Int
    var generation: UInt64
    var entry: LogEntry
  }

  var machine: DeliveryMachine
  let limits: DeliveryMachine.Limits
  var partitions: [Reference]
  var slots: [DeliveryMachine.Slot: Running] = [:]
  var running: [DeliveryMachine.Slot: Running] = [:]
  var now: Duration = .zero
  var handled: [Int: [Int64: Int]] = [:]
  /// Per partition and key the last offset begun in this run, and those begun more than once because of retries.
  var lastBegun: [Int: [UInt64: Int64]] = [:]
  var crashes = 0
  var withdrawals = 0
  let context: String

  init(_ random: inout SeededGenerator, context: String) {
    self.context = context
    limits = DeliveryMachine.Limits(
      recordsAhead: Int.random(in: 1...12, using: &random), bytesAhead: Int.random(in: 1...40, using: &random),
      waitingBytes: Int.random(in: 1...60, using: &random), commitRecords: Int.random(in: 1...8, using: &random),
      retry: RetryPolicy(attempts: Int.random(in: 1...4, using: &random), initialDelay: .seconds(1)))
    let count = Int.random(in: 1...3, using: &random)
    let keys = UInt64.random(in: 1...6, using: &random)
    partitions = (0..<count).map { partition in
      var log: [LogEntry] = []
      var offset: Int64 = 0
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        if Int.random(in: 0..<8, using: &random) == 0 { offset += Int64.random(in: 1...5, using: &random) }
        // A key belongs to one partition.
        let key = UInt64(partition) << 32 | UInt64.random(in: 0..<keys, using: &random)
        let hasKey = Int.random(in: 0..<4, using: &random) > 0
        log.append(LogEntry(offset: offset, key: hasKey ? key : nil, bytes: Int.random(in: 0...9, using: &random)))
        offset += 1
      }
      return Reference(log: log, end: offset + Int64.random(in: 0...3, using: &random))
    }
    machine = DeliveryMachine(partitions: count, limits: limits)
    for partition in partitions.indices { begin(partition) }
  }

  /// As `#expect`, which is too slow for millions of checks.
  func check(_ isSo: Bool, _ what: String = "", line: Int = #line) {
    if !isSo { Issue.record("line \(line): \(what), \(context)") }
  }

  // MARK: The shell's part

  mutating func begin(_ partition: Int) {
    partitions[partition].generation += 1
    partitions[partition].isOurs = true
    partitions[partition].readTo = partitions[partition].committed
    partitions[partition].admitted = []
    partitions[partition].finishedNow = partitions[partition].committedExtra
    lastBegun[partition] = [:]
    var finished = OffsetRanges()
    for offset in partitions[partition].committedExtra.sorted() { finished.insert(offset..<offset + 1) }
    machine.begin(
      partition, generation: partitions[partition].generation, at: partitions[partition].committed, finished: finished)
  }

  /// Reads one record, or over a hole; returns whether there is more.
  mutating func read(_ partition: Int) -> Bool {
    guard partitions[partition].isOurs, machine.mayRead() else { return false }
    let reference = partitions[partition]
    guard let entry = reference.log.first(where: { $0.offset >= reference.readTo }) else {
      machine.advance(partition, to: reference.end)
      partitions[partition].readTo = reference.end
      return false
    }
    let room = machine.room(partition)
    let admission = machine.admit(partition, offset: entry.offset, bytes: entry.bytes, lane: entry.key)
    let isKnown = reference.committedExtra.contains(entry.offset)
    switch admission {
    case .refused: check(room == 0)
    case .known:
      check(isKnown && room > 0)
      partitions[partition].readTo = entry.offset + 1
    case .taken(let slot):
      check(!isKnown && room > 0)
      check(slots[slot] == nil && running[slot] == nil, "a slot is used twice")
      slots[slot] = Running(partition: partition, generation: reference.generation, entry: entry)
      partitions[partition].readTo = entry.offset + 1
      partitions[partition].admitted.append(entry)
    }
    checkBounds(partition)
    return admission != .refused
  }

  private func checkBounds(_ partition: Int) {
    let reference = partitions[partition]
    let ahead = reference.log.filter { $0.offset >= frontier(reference) && $0.offset < reference.readTo }
    check(ahead.count <= limits.recordsAhead)
    let bytes = ahead.filter { !reference.committedExtra.contains($0.offset) }.dropLast().reduce(0) { $0 + $1.bytes }
    check(bytes < max(limits.bytesAhead, 1) || ahead.count <= 1)
  }

  /// The first record that was read and is not finished, found the long way.
  private func frontier(_ reference: Reference) -> Int64 {
    reference.log.first { $0.offset >= reference.committed && !reference.finishedNow.contains($0.offset) }
      .map { min($0.offset, reference.readTo) } ?? reference.readTo
  }

  /// Begins the next record, if there is one.
  mutating func take() -> Bool {
    guard let slot = machine.take() else { return false }
    guard let job = slots.removeValue(forKey: slot) else {
      Issue.record("a slot that holds nothing, \(context)")
      return false
    }
    let reference = partitions[job.partition]
    check(reference.isOurs && reference.generation == job.generation, "of a partition that was lost")
    if let key = job.entry.key {
      check(!running.values.contains { $0.entry.key == key }, "two of one key at once")
      let earlier = reference.admitted.first {
        $0.key == key && $0.offset < job.entry.offset && !reference.finishedNow.contains($0.offset)
      }
      check(earlier == nil, "not in the order of its key")
      let last = lastBegun[job.partition]?[key] ?? -1
      check(last <= job.entry.offset)
      lastBegun[job.partition]?[key] = job.entry.offset
    }
    check(!reference.finishedNow.contains(job.entry.offset), "handled again without need")
    running[slot] = job
    return true
  }

  mutating func finish(_ slot: DeliveryMachine.Slot) {
    guard let job = running.removeValue(forKey: slot) else { return }
    _ = machine.finish(slot)
    handled[job.partition, default: [:]][job.entry.offset, default: 0] += 1
    partitions[job.partition].finished.insert(job.entry.offset)
    if partitions[job.partition].isOurs, partitions[job.partition].generation == job.generation {
      partitions[job.partition].finishedNow.insert(job.entry.offset)
    }
  }

  mutating func fail(_ slot: DeliveryMachine.Slot, _ random: Double) {
    guard let job = running[slot] else { return }
    let isLost = !partitions[job.partition].isOurs || partitions[job.partition].generation != job.generation
    switch machine.fail(slot, now: now, random: random) {
    case .retry(let at):
      check(!isLost && at > now)
      running[slot] = nil
      slots[slot] = job
    case .giveUp(let attempts):
      check(attempts == limits.retry.attempts)
      finish(slot)
    case .lost:
      running[slot] = nil
      check(isLost || machine.partitions[job.partition]?.isRevoked == true)
    }
  }

  mutating func commit() {
    for point in machine.commits() { commit(point) }
  }

  mutating func commit(_ point: DeliveryMachine.CommitPoint) {
    let reference = partitions[point.partition]
    guard reference.isOurs, reference.generation == point.generation else {
      Issue.record("a commit of what is not ours, \(context)")
      return
    }
    check(point.offset >= reference.committed && point.offset == frontier(reference))
    for entry in reference.log where entry.offset < point.offset {
      check(reference.finished.contains(entry.offset), "committed what is not finished")
    }
    let extra = Set(reference.log.map(\.offset).filter { point.finished.contains($0) })
    check(extra.isSubset(of: reference.finished), "committed what is not finished")
    // And all that is.
    check(extra == reference.finishedNow.filter { $0 >= point.offset })
    partitions[point.partition].committed = point.offset
    partitions[point.partition].committedExtra = extra
  }

  /// The process dies and starts again from what is committed.
  mutating func crash() {
    crashes += 1
    machine = DeliveryMachine(partitions: partitions.count, limits: limits)
    slots = [:]
    running = [:]
    for partition in partitions.indices { begin(partition) }
  }

  /// The partition is asked back, finished, committed and released; and comes back later.
  mutating func handOver(_ partition: Int) {
    machine.revoke(partition)
    check(machine.room(partition) == 0)
    let generation = partitions[partition].generation
    for slot in running.keys.sorted() {
      guard let job = running[slot], job.partition == partition, job.generation == generation else { continue }
      check(!machine.isDrained(partition))
      finish(slot)
    }
    check(machine.isDrained(partition))
    if let point = machine.commit(partition) { commit(point) }
    machine.drop(partition)
    forget(partition)
    begin(partition)
  }

  /// The partition is taken away while records of it run.
  mutating func withdraw(_ partition: Int) {
    withdrawals += 1
    machine.drop(partition)
    forget(partition)
    begin(partition)
  }

  private mutating func forget(_ partition: Int) {
    // The slots stay the machine's until it finds that they are nobody's.
    partitions[partition].isOurs = false
    for (slot, job) in slots where job.partition == partition { slots[slot] = nil }
  }

  var isFinished: Bool {
    partitions.allSatisfy { reference in reference.log.allSatisfy { reference.finished.contains($0.offset) } }
  }

  var isCommitted: Bool { partitions.allSatisfy { $0.committed == $0.end } }
}
