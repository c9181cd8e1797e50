/// Which record may be handled next, and how far a commit may go: decides only, does nothing.
///
/// Records with the same lane are handled one after the other, in the order in which they were admitted; a record that
/// is to be tried again keeps its lane. Records without a lane wait for nobody. A partition's commit goes to its first
/// unfinished record, with the ranges that are finished behind.
struct DeliveryMachine: Sendable {
  struct Limits: Sendable {
    var recordsAhead: Int
    var bytesAhead: Int
    var waitingBytes: Int
    var commitRecords: Int
    var retry: RetryPolicy
    /// Whether the reader is to be woken when nothing is left to do.
    var reportsIdle = false
  }

  typealias Slot = Int32

  enum Admission: Equatable, Sendable {
    case taken(Slot)
    /// It was finished before the last start.
    case known
    /// Not now: the partition is as far ahead as it may be, or is not read any more.
    case refused
  }

  /// Who has something to do now.
  enum Action: Equatable, Sendable {
    case none, read, commit, readAndCommit

    fileprivate init(read: Bool, commit: Bool) {
      self = read ? (commit ? .readAndCommit : .read) : (commit ? .commit : .none)
    }
  }

  enum Verdict: Equatable, Sendable {
    /// It becomes ready again at that time.
    case retry(at: Duration)
    /// It has been tried as often as it may be; it is to be finished one way or another, or abandoned.
    case giveUp(attempts: Int)
    /// Its partition is somebody else's by now.
    case lost(Action)
  }

  struct CommitPoint: Equatable, Sendable {
    var partition: Int
    var generation: UInt64
    var offset: Int64
    var finished: OffsetRanges
  }

  private struct Record: Sendable {
    var partition: Int
    var generation: UInt64
    var number: Int
    var lane: UInt64?
    /// The next one of the lane, −1 if there is none.
    var next: Slot
    var bytes: Int
    var attempts: Int
  }

  let limits: Limits
  private(set) var partitions: [PartitionProgress?]
  private var records: [Record] = []
  private var free: [Slot] = []
  /// The last record of each lane that has any.
  private var lanes: [UInt64: Slot] = [:]
  private var ready = Fifo<Slot>()
  /// Ready again after a delay: these come first.
  private var again = Fifo<Slot>()
  /// To be tried again later; the last one first.
  private var delayed: [(at: Duration, slot: Slot)] = []
  private(set) var running = 0
  /// Of records that were admitted and are not finished.
  private(set) var waitingBytes = 0
  private(set) var outstanding = 0
  private var finishedSinceCommit = 0
  private var isHeldBack = false
  private(set) var isStopping = false

  init(partitions: Int, limits: Limits) {
    self.limits = limits
    self.partitions = Array(repeating: nil, count: partitions)
  }

  // MARK: Partitions

  mutating func begin(_ partition: Int, generation: UInt64, at offset: Int64, finished: OffsetRanges) {
    partitions[partition] = PartitionProgress(generation: generation, at: offset, finished: finished)
  }

  /// Begins nothing of the partition any more.
  mutating func revoke(_ partition: Int) { partitions[partition]?.isRevoked = true }

  /// Whether a revoked partition may be released: nothing of it runs.
  func isDrained(_ partition: Int) -> Bool { partitions[partition]?.running == 0 }

  /// The partition is not ours any more; what runs of it counts for nothing.
  mutating func drop(_ partition: Int) { partitions[partition] = nil }

  // MARK: Reading

  /// How many records of the partition may be admitted now; one may be refused because of its bytes yet.
  func room(_ partition: Int) -> Int {
    guard let progress = partitions[partition], !progress.isRevoked, progress.bytesAhead < limits.bytesAhead else {
      return 0
    }
    return max(limits.recordsAhead - progress.recordsAhead, 0)
  }

  /// Whether to read on at all; otherwise the reader is woken when it may.
  mutating func mayRead() -> Bool {
    isHeldBack = waitingBytes >= limits.waitingBytes
    return !isHeldBack
  }

  /// The reader has stopped in the partition for want of room; it is woken when there is enough.
  mutating func waitForRoom(_ partition: Int) { partitions[partition]?.wantsRoom = true }

  /// Whether a partition in which the reader has stopped is worth going on with.
  func isRoomy(_ partition: Int) -> Bool {
    let room = room(partition)
    if room == 0 { return false }
    // A batch is opened anew for the rest of it: not for every single record.
    let bytesAhead = partitions[partition]?.bytesAhead ?? 0
    return ready.isEmpty || (room * 4 >= limits.recordsAhead && bytesAhead <= limits.bytesAhead / 4 * 3)
  }

  mutating func admit(_ partition: Int, offset: Int64, bytes: Int, lane: UInt64?) -> Admission {
    if room(partition) == 0 { return .refused }
    if partitions[partition]?.isKnown(offset) == true {
      _ = partitions[partition]?.add(offset, bytes: 0, isFinished: true)
      return .known
    }
    guard let number = partitions[partition]?.add(offset, bytes: bytes, isFinished: false),
      let generation = partitions[partition]?.generation
    else { return .refused }
    let record = Record(
      partition: partition, generation: generation, number: number, lane: lane, next: -1, bytes: bytes, attempts: 0)
    let slot: Slot
    if let reused = free.popLast() {
      slot = reused
      records[Int(slot)] = record
    } else {
      slot = Slot(records.count)
      records.append(record)
    }
    waitingBytes += bytes
    outstanding += 1
    if let lane {
      if let last = lanes.updateValue(slot, forKey: lane) {
        records[Int(last)].next = slot
      } else {
        ready.append(slot)
      }
    } else {
      ready.append(slot)
    }
    return .taken(slot)
  }

  /// The reader came to `offset`; it has admitted every record before it.
  mutating func advance(_ partition: Int, to offset: Int64) { partitions[partition]?.advance(to: offset) }

  // MARK: Handling

  /// How many records could be begun now.
  var readyCount: Int { isStopping ? 0 : ready.count + again.count }

  /// The next record to be handled; nil if none may be begun.
  mutating func take() -> Slot? {
    if isStopping { return nil }
    while let slot = again.popFirst() ?? ready.popFirst() {
      let partition = records[Int(slot)].partition
      if isLost(slot) || partitions[partition]?.isRevoked != false {
        remove(slot)
        continue
      }
      partitions[partition]?.running += 1
      running += 1
      return slot
    }
    return nil
  }

  /// The record is done with.
  mutating func finish(_ slot: Slot) -> Action {
    running -= 1
    let record = records[Int(slot)]
    let isLost = isLost(slot)
    remove(slot)
    if isLost { return idleAction }
    partitions[record.partition]?.running -= 1
    partitions[record.partition]?.finish(record.number)
    finishedSinceCommit += 1
    return action(record.partition)
  }

  /// An attempt failed: it is tried again later, its lane waiting for it, or not any more.
  mutating func fail(_ slot: Slot, now: Duration, random: Double) -> Verdict {
    let partition = records[Int(slot)].partition
    if isLost(slot) || partitions[partition]?.isRevoked != false { return .lost(abandon(slot)) }
    records[Int(slot)].attempts += 1
    let attempts = records[Int(slot)].attempts
    if attempts >= limits.retry.attempts { return .giveUp(attempts: attempts) }
    running -= 1
    partitions[partition]?.running -= 1
    let due = now + limits.retry.delay(after: attempts, random: random)
    let place = delayed.firstIndex { $0.at <= due } ?? delayed.count
    delayed.insert((due, slot), at: place)
    return .retry(at: due)
  }

  /// How often the record has failed.
  func attempts(_ slot: Slot) -> Int { records[Int(slot)].attempts }

  /// The record that was taken is not finished and is not tried again in this run.
  mutating func abandon(_ slot: Slot) -> Action {
    running -= 1
    let partition = records[Int(slot)].partition
    let isLost = isLost(slot)
    remove(slot)
    if isLost { return idleAction }
    partitions[partition]?.running -= 1
    return action(partition)
  }

  /// When the next delayed record becomes ready.
  var nextDue: Duration? { delayed.last?.at }

  /// Makes ready what is due.
  mutating func wakeDue(_ now: Duration) {
    while let last = delayed.last, last.at <= now {
      delayed.removeLast()
      again.append(last.slot)
    }
  }

  /// Begins nothing any more.
  mutating func stop() { isStopping = true }

  private func isLost(_ slot: Slot) -> Bool {
    let record = records[Int(slot)]
    return partitions[record.partition]?.generation != record.generation
  }

  /// Frees the slot and lets its lane go on.
  private mutating func remove(_ slot: Slot) {
    let record = records[Int(slot)]
    waitingBytes -= record.bytes
    outstanding -= 1
    if let lane = record.lane {
      if record.next >= 0 { ready.append(record.next) } else { lanes[lane] = nil }
    }
    free.append(slot)
  }

  private var idleAction: Action { Action(read: limits.reportsIdle && outstanding == 0, commit: false) }

  private mutating func action(_ partition: Int) -> Action {
    var reads = limits.reportsIdle && outstanding == 0
    if isHeldBack && waitingBytes * 2 < limits.waitingBytes {
      isHeldBack = false
      reads = true
    }
    if let progress = partitions[partition] {
      if progress.isRevoked && progress.running == 0 { reads = true }
      if progress.wantsRoom && isRoomy(partition) {
        partitions[partition]?.wantsRoom = false
        reads = true
      }
    }
    return Action(read: reads, commit: finishedSinceCommit >= limits.commitRecords)
  }

  // MARK: Committing

  /// Where every partition with news is to be committed.
  mutating func commits() -> [CommitPoint] {
    finishedSinceCommit = 0
    return partitions.indices.compactMap { partitions[$0]?.isChanged == true ? commit($0) : nil }
  }

  /// Where the partition is to be committed, whether or not something is new.
  mutating func commit(_ partition: Int) -> CommitPoint? {
    guard let progress = partitions[partition] else { return nil }
    partitions[partition]?.isChanged = false
    return CommitPoint(
      partition: partition, generation: progress.generation, offset: progress.frontier,
      finished: progress.finishedBehind)
  }

  /// These commits failed: they are still to be made.
  mutating func redo(_ points: [CommitPoint]) {
    for point in points where partitions[point.partition]?.generation == point.generation {
      partitions[point.partition]?.isChanged = true
    }
  }
}
