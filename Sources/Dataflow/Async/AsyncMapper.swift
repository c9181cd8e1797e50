import Bytes

/// One `asyncMap` on one subtask: which records are under way, what has come of them, what goes on and when.
///
/// The subtask's thread does everything here; the calls themselves run elsewhere (`CallPool`).
final class AsyncMapper<Element: Sendable, Output: Sendable>: CheckpointParticipant, RegionWorker {
  private struct Entry {
    let element: Element
    let time: Timestamp
    let key: [UInt8]?
    let hash: KeyHash
    let row: PendingRecords<Element>.Row
    var isStored: Bool
    var failures = 0
    /// What came of it, while it waits for its turn.
    var result: Result<Output, any Error>?
    /// Whether nothing is left to do for it.
    var isFinished = false
  }

  private let context: OperatorContext
  private let options: AsyncOptions
  private let onError: ErrorPolicy<Element>
  private let output: Receiver<Output>
  private let pool: CallPool<Element, Output>
  private let chance: @Sendable () -> Double
  private var records: PendingRecords<Element>
  /// Records in the order of their coming, from number `first` on; finished ones leave at the front.
  private var entries: [Entry?] = []
  private var head = 0
  private var first: UInt64 = 0
  private var unfinished = 0
  /// Watermarks that wait for every record numbered below.
  private var watermarks: [(before: UInt64, watermark: Watermark)] = []
  /// Records that wait for their next attempt.
  private var pauses: [(due: Int64, id: UInt64)] = []
  /// The records whose outcome came since the last emission.
  private var settled: [UInt64] = []
  private var nextNumber: UInt64

  init(
    _ context: OperatorContext, _ options: AsyncOptions, _ onError: ErrorPolicy<Element>, _ output: Receiver<Output>,
    _ table: StateTable<Element>, chance: @escaping @Sendable () -> Double,
    _ body: @escaping @Sendable (Element) async throws -> Output
  ) throws {
    self.context = context
    self.options = options
    self.onError = onError
    self.output = output
    self.chance = chance
    pool = CallPool(capacity: options.capacity, clock: context.clock, wake: context.wake, body)
    records = PendingRecords(table)
    let stored = try records.load(context.keyGroups, context)
    nextNumber = (stored.last?.row.number ?? 0) + 1
    var calls: [CallPool<Element, Output>.Call] = []
    for record in stored {
      let hash = record.key.map { key in unsafe key.withUnsafeBytes { unsafe KeyHash($0) } }
      let entry = Entry(
        element: record.element, time: record.time, key: record.key, hash: hash ?? KeyHash(value: 0), row: record.row,
        isStored: true)
      calls.append(add(entry))
    }
    pool.submit(calls)
  }

  // MARK: What comes in

  private func add(_ entry: Entry) -> CallPool<Element, Output>.Call {
    let id = first + UInt64(entries.count - head)
    entries.append(entry)
    unfinished += 1
    return .init(id: id, input: entry.element)
  }

  func take(_ batch: borrowing Batch<Element>) throws {
    let count = batch.count
    context.counters.received(count)
    let isKeyed = batch.isKeyed
    // Without a key of its own a record stays with the subtask.
    let group = UInt8(truncatingIfNeeded: context.keyGroups.first ?? 0)
    var calls: [CallPool<Element, Output>.Call] = []
    calls.reserveCapacity(count)
    for index in 0..<count {
      let key = isKeyed ? unsafe batch.keys.withBytes(at: index) { unsafe [UInt8]($0) } : nil
      let hash = isKeyed ? batch.keys.hash(at: index) : KeyHash(value: 0)
      let row = PendingRecords<Element>.Row(
        group: isKeyed ? UInt8(truncatingIfNeeded: hash.keyGroup) : group, number: nextNumber)
      nextNumber += 1
      calls.append(
        add(
          Entry(
            element: batch[index], time: batch.timestamp(index), key: key, hash: hash, row: row, isStored: false)))
    }
    pool.submit(calls)
    _ = try work(at: context.clock.time)
  }

  func take(_ watermark: Watermark) throws {
    let next = first + UInt64(entries.count - head)
    if unfinished == 0 {
      try pass(watermark)
    } else {
      // Of two with no record between, the later says it all.
      if watermarks.last?.before == next { watermarks.removeLast() }
      watermarks.append((next, watermark))
    }
  }

  private func pass(_ watermark: Watermark) throws {
    context.counters.watermark(watermark.time)
    try output.watermark(watermark)
  }

  // MARK: What is done without a batch

  var isFull: Bool { unfinished >= options.capacity }
  var isBusy: Bool { unfinished > 0 }

  /// When a call has to be given up, or tried again.
  var due: Timestamp? {
    var next = pauses.map(\.due).min()
    if let timeout = options.timeout?.wholeMicroseconds, unfinished > pauses.count {
      // One that has not begun yet ends after one that begins now.
      let end = (pool.oldestStart ?? context.clock.now).saturatingAdd(timeout)
      next = min(next ?? end, end)
    }
    return next.map { context.clock.time.advanced(byMicroseconds: max(0, $0 - context.clock.now)) }
  }

  func work(at _: Timestamp) throws -> Bool {
    if unfinished == 0 { return false }
    let now = context.clock.now
    var worked = false
    for completion in pool.collect() {
      settle(completion.id, completion.result, now)
      worked = true
    }
    if let timeout = options.timeout {
      for id in pool.giveUp(startedBefore: now.saturatingSubtract(timeout.wholeMicroseconds)) {
        settle(id, .failure(AsyncTimeout(limit: timeout)), now)
        worked = true
      }
    }
    retry(now)
    if worked { try emit() }
    return worked
  }

  /// Takes the outcome of an attempt.
  private func settle(_ id: UInt64, _ result: Result<Output, any Error>, _ now: Int64) {
    let place = head + Int(id - first)
    guard id >= first, place < entries.count, var entry = entries[place] else { return }
    if case .failure(let error) = result {
      entry.failures += 1
      if entry.failures < options.attempts && options.isRetriable(error) {
        let pause = options.backoff.delay(after: entry.failures - 1, chance: chance())
        pauses.append((now.saturatingAdd(pause), id))
        entries[place] = entry
        return
      }
    }
    entry.result = result
    entries[place] = entry
    settled.append(id)
  }

  private func retry(_ now: Int64) {
    if pauses.isEmpty { return }
    var calls: [CallPool<Element, Output>.Call] = []
    pauses.removeAll { pause in
      guard pause.due <= now, let entry = entries[head + Int(pause.id - first)] else { return false }
      calls.append(.init(id: pause.id, input: entry.element))
      return true
    }
    if !calls.isEmpty { pool.submit(calls) }
  }

  // MARK: What goes on

  /// Passes on every result whose turn has come, and the watermarks that nothing holds back any more.
  private func emit() throws {
    var collector = Batch<Output>()
    if options.order == .unordered {
      for id in settled { try finish(head + Int(id - first), &collector) }
    }
    settled.removeAll(keepingCapacity: true)
    while head < entries.count, let entry = entries[head] {
      if !entry.isFinished {
        if entry.result == nil { break }
        try finish(head, &collector)
      }
      entries[head] = nil
      head += 1
      first += 1
      if let waiting = watermarks.first, waiting.before <= first {
        try flush(&collector)
        watermarks.removeFirst()
        try pass(waiting.watermark)
      }
    }
    try flush(&collector)
    if head == entries.count {
      entries.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 4096 && head > entries.count / 2 {
      entries.removeFirst(head)
      head = 0
    }
  }

  /// Makes an output, or what the policy says, of the result at `place`, if there is one.
  private func finish(_ place: Int, _ collector: inout Batch<Output>) throws {
    guard var entry = entries[place], let result = entry.result else { return }
    entry.result = nil
    entry.isFinished = true
    if entry.isStored { records.finished.append(entry.row) }
    unfinished -= 1
    entries[place] = entry
    switch result {
    case .success(let value):
      collector.append(value, at: entry.time)
      if let key = entry.key { unsafe key.withUnsafeBytes { unsafe collector.keys.append($0, hash: entry.hash) } }
    case .failure(let error):
      var keys = KeyColumn(capacity: 1)
      if let key = entry.key { unsafe key.withUnsafeBytes { unsafe keys.append($0, hash: entry.hash) } }
      try onError.handle(error, context, element: { entry.element }, keys, 0, at: entry.time)
    }
  }

  private func flush(_ collector: inout Batch<Output>) throws {
    var full = Batch<Output>()
    swap(&full, &collector)
    context.counters.emitted(full.count)
    if !full.isEmpty { try output.batch(full) }
    try context.flushSides()
  }

  // MARK: Checkpoints

  func seal(epoch: UInt64) throws -> [any SealedPart] {
    var added: [PendingRecords<Element>.Stored] = []
    for place in head..<entries.count {
      guard var entry = entries[place], !entry.isFinished, !entry.isStored else { continue }
      entry.isStored = true
      entries[place] = entry
      added.append(.init(row: entry.row, element: entry.element, time: entry.time, key: entry.key))
    }
    do { return try records.seal(added).map { [$0] } ?? [] } catch {
      throw DataflowError(.operatorFailed, context.name, "what it waits for cannot be stored", cause: error)
    }
  }

  func close() { pool.close() }
}
