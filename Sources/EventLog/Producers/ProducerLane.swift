import Synchronization

/// The order of one producer's appends: one unit is under way at a time, and what comes meanwhile is the next one.
///
/// So numbers are given out in order, a failed unit is tried again before anything behind it, and there is no second
/// unit whose fate depends on the first.
final class ProducerLane: Sendable {
  struct Call: Sendable {
    let records: [NewRecord]
    /// The partition of each record.
    let targets: [Int]
    let done: @Sendable (Result<[LogPosition], any Error>) -> Void
  }

  /// The most bytes of a call, by which also what goes together is bounded: the greatest record fits.
  static let maximumBytes = 17 << 20
  /// Calls are put together up to about so many bytes.
  private static let bytesTogether = 1 << 20
  private static let firstDelay = 10_000_000
  private static let longestDelay = 1_000_000_000
  /// After these no later call can succeed.
  private static let endings: Set<EventLogError.Code> = [.fenced, .sequenceGap, .closed, .topicDeleted]

  private struct State {
    var waiting: [Call] = []
    var isBusy = false
    /// Per partition the number of the next record.
    var sequences: [Int: Int64] = [:]
    /// Why nothing goes any more.
    var end: EventLogError?
  }

  private let state = Mutex(State())
  private let writer: TopicWriter
  private let id: ProducerID
  /// In nanoseconds.
  private let retryFor: Int

  init(_ writer: TopicWriter, _ id: ProducerID, retryFor: Int) {
    self.writer = writer
    self.id = id
    self.retryFor = retryFor
  }

  func append(_ call: Call) {
    let (end, isFirst) = state.withLock { state -> (EventLogError?, Bool) in
      if let end = state.end { return (end, false) }
      state.waiting.append(call)
      defer { state.isBusy = true }
      return (nil, !state.isBusy)
    }
    if let end { return call.done(.failure(end)) }
    if isFirst { goOn() }
  }

  /// Sends what waits; the lane is busy and nothing is under way.
  private func goOn() {
    let calls = state.withLock { state in
      var taken = 0
      var (bytes, records) = (0, 0)
      for call in state.waiting {
        bytes += call.records.reduce(0) { $0 + ($1.key?.count ?? 0) + $1.value.count + 24 }
        records += call.records.count
        if taken > 0 && (bytes > Self.bytesTogether || records > OpenBatch.maximumCount) { break }
        taken += 1
      }
      defer { state.waiting.removeFirst(taken) }
      if taken == 0 { state.isBusy = false }
      return Array(state.waiting[..<taken])
    }
    if !calls.isEmpty { send(calls, Attempt()) }
  }

  private struct Attempt: Sendable {
    var delay = ProducerLane.firstDelay
    var waited = 0
  }

  /// Sends `calls` as one unit: one batch per partition, whose size only the calls' bound limits.
  private func send(_ calls: [Call], _ attempt: Attempt) {
    let count = calls.reduce(0) { $0 + $1.records.count }
    let encoded = EncodedUnit(writer.queue, batchBytes: .max, count: count)
    for call in calls {
      for (record, target) in zip(call.records, call.targets) { encoded.add(record, partition: target) }
    }
    encoded.complete(writer.state.compression)
    state.withLock { state in
      for batch in encoded.batches {
        unsafe batch.pointer.pointee.producer = id
        unsafe batch.pointer.pointee.sequence = state.sequences[batch.pointer.pointee.partition] ?? 0
      }
    }
    submit(encoded, calls, attempt)
  }

  private func submit(_ encoded: EncodedUnit, _ calls: [Call], _ attempt: Attempt) {
    let places = encoded.places
    let unit = AppendUnit(batches: encoded.batches.count) { outcome in
      switch outcome {
      case .success(let outcomes): self.succeed(calls, places, outcomes)
      case .failure(let error): self.fail(calls, error, attempt)
      }
    }
    do {
      if try writer.queue.submit(encoded, unit) == .accepted { return }
    } catch {
      return fail(calls, error, attempt)
    }
    writer.queue.waitForRoom(.callback(RoomWaiter { self.submit(encoded, calls, attempt) }))
  }

  private func succeed(_ calls: [Call], _ places: [EncodedUnit.Place], _ outcomes: [BatchOutcome]) {
    state.withLock { state in
      for outcome in outcomes { state.sequences[outcome.partition, default: 0] += Int64(outcome.count) }
    }
    let positions = EncodedUnit.positions(places, outcomes)
    var start = 0
    for call in calls {
      call.done(.success(Array(positions[start..<start + call.records.count])))
      start += call.records.count
    }
    goOn()
  }

  /// Nothing of `calls` was written, as far as is known.
  private func fail(_ calls: [Call], _ error: EventLogError, _ attempt: Attempt) {
    if error.isRetriable && attempt.waited < retryFor {
      var next = attempt
      next.waited += attempt.delay
      next.delay = min(attempt.delay * 2, Self.longestDelay)
      let again = next
      return writer.retry(after: attempt.delay) { self.send(calls, again) }
    }
    let isEnd = Self.endings.contains(error.code) || error.isOutcomeUnknown
    let rest = state.withLock { state -> [Call] in
      guard isEnd else { return [] }
      state.end = error
      defer { state.waiting = [] }
      return state.waiting
    }
    for call in calls + rest { call.done(.failure(error)) }
    goOn()
  }
}
