import Bytes
import Synchronization

extension DeliveryEngine {
  private static let bytesPerRead = 256 << 10
  /// Records are admitted so many at a time: workers get the lock in between.
  private static let admittedAtOnce = 64

  /// Reads, follows the coming and going of partitions, and wakes what is to be tried again, until it is to stop.
  func conduct() async {
    let feed = MemberFeed(subscription)
    do {
      while !isStopping && !subscription.isClosing {
        try await follow(feed)
        for partition in prepare(feed) { feed.resume(partition) }
        if state.withLock({ $0.machine.mayRead() }) {
          if try await feed.read(maxBytes: Self.bytesPerRead, { self.admit($0, $1) }) {
            takeOver(feed)
            continue
          }
          takeOver(feed)
        }
        let isFinished = isFinished(feed)
        if feed.isBehind { continue }
        if isFinished { return }
        let due = state.withLock { $0.machine.nextDue }
        await subscription.waitForNews(due.map { $0 - clock.now() })
      }
    } catch {
      fail(error)
    }
  }

  private func follow(_ feed: MemberFeed) async throws {
    let changes = try await feed.follow()
    state.withLock { state in
      for partition in changes.lost { state.machine.drop(partition) }
      for (partition, part) in changes.begun {
        state.machine.begin(partition, generation: part.generation, at: part.next, finished: part.finished)
      }
      for partition in changes.revoked.keys { state.machine.revoke(partition) }
    }
    try await releaseDrained()
  }

  /// Commits and lets go of revoked partitions of which nothing runs any more.
  private func releaseDrained() async throws {
    for (partition, generation) in subscription.shared.revoked(from: subscription.id) {
      let (isReady, point) = state.withLock { state -> (Bool, DeliveryMachine.CommitPoint?) in
        // One that was never begun here has nothing to wait for.
        guard state.machine.partitions[partition]?.generation == generation else { return (true, nil) }
        state.machine.revoke(partition)
        guard state.machine.isDrained(partition) else { return (false, nil) }
        // Even if nothing is new: what was committed last may be on its way yet.
        return (true, state.machine.commit(partition))
      }
      guard isReady else { continue }
      if let point { try await commit([point]) }
      state.withLock { state in
        if state.machine.partitions[partition]?.generation == generation { state.machine.drop(partition) }
      }
      subscription.shared.release(partition, generation: generation, by: subscription.id)
    }
  }

  /// Makes ready what is due, and returns the partitions to go on reading.
  private func prepare(_ feed: MemberFeed) -> [Int] {
    let paused = feed.parts.filter { $0.value.isPaused }.keys
    let (roomy, mustWake) = state.withLock { state -> ([Int], Bool) in
      state.machine.wakeDue(clock.now())
      var roomy: [Int] = []
      for partition in paused {
        if state.machine.isRoomy(partition) {
          roomy.append(partition)
        } else {
          state.machine.waitForRoom(partition)
        }
      }
      return (roomy, state.machine.readyCount > 0)
    }
    if mustWake { wakeWorker() }
    return roomy
  }

  /// What the reader passed over in which there was nothing to admit.
  private func takeOver(_ feed: MemberFeed) {
    state.withLock { state in
      for (partition, part) in feed.parts where !part.isPaused {
        state.machine.advance(partition, to: min(part.next, part.limit))
      }
    }
  }

  private func isFinished(_ feed: MemberFeed) -> Bool {
    subscription.limits != nil && feed.isAtEnd && state.withLock { $0.machine.outstanding } == 0
  }

  /// Admits what there is room for; returns the next offset to be read. On the reader's thread.
  private func admit(_ batch: LogBatch, _ part: MemberFeed.Part) -> Int64 {
    let partition = batch.partition
    var room = state.withLock { $0.machine.room(partition) }
    var pending: [(record: OwnedRecord?, offset: Int64, bytes: Int, lane: UInt64?)] = []
    pending.reserveCapacity(min(Self.admittedAtOnce, batch.count))
    for record in batch {
      if record.offset >= part.limit { break }
      if room == 0 { return admit(&pending, partition) ?? record.offset }
      room -= 1
      if part.finished.contains(record.offset) {
        pending.append((nil, record.offset, 0, nil))
      } else {
        let owned = OwnedRecord(copying: record, partition: partition)
        let headers = unsafe record.headerBytes.count
        unsafe pending.append(
          (owned, record.offset, record.key.count + record.value.count + headers, lane(of: record, partition)))
      }
      if pending.count == Self.admittedAtOnce, let refused = admit(&pending, partition) { return refused }
    }
    if let refused = admit(&pending, partition) { return refused }
    let end = min(batch.lastOffset + 1, part.limit)
    state.withLock { $0.machine.advance(partition, to: end) }
    return end
  }

  private func lane(of record: LogRecord, _ partition: Int) -> UInt64? {
    if record.hasKey { return unsafe KeyHash(record.key).value }
    // Any number will do: sharing a lane with a key costs no more than waiting for it.
    return options.keyless == .partition ? UInt64(partition) : nil
  }

  /// Admits `pending`, which is empty then; returns the offset of the first one that is refused.
  private func admit(
    _ pending: inout [(record: OwnedRecord?, offset: Int64, bytes: Int, lane: UInt64?)], _ partition: Int
  ) -> Int64? {
    if pending.isEmpty { return nil }
    let refused = state.withLock { state -> Int64? in
      for index in pending.indices {
        switch state.machine.admit(
          partition, offset: pending[index].offset, bytes: pending[index].bytes, lane: pending[index].lane)
        {
        case .taken(let slot):
          while state.records.count <= slot { state.records.append(nil) }
          state.records[Int(slot)] = pending[index].record
        case .known: state.counts.known += 1
        case .refused: return pending[index].offset
        }
      }
      return nil
    }
    pending.removeAll(keepingCapacity: true)
    wakeWorker()
    return refused
  }
}
