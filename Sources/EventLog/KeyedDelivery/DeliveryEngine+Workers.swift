import Bytes
import Synchronization

extension DeliveryEngine {
  private typealias Job = (slot: DeliveryMachine.Slot, record: OwnedRecord)

  private enum Turn {
    case job(Job)
    case wait, end
  }

  private static let handledBetweenYields = 16

  /// One worker: handles one record after the other, until it is to stop.
  func work() async {
    var done: DeliveryMachine.Slot?
    var handled = 0
    while true {
      let (turn, action, next) = turn(finishing: done)
      done = nil
      perform(action)
      next?.resume()
      switch turn {
      case .end: return
      case .wait:
        await withCheckedContinuation { continuation in
          let isNow = state.withLock { state in
            if state.machine.isStopping || state.machine.readyCount > state.waking {
              state.waking += 1
              return true
            }
            state.idle.append(continuation)
            return false
          }
          if isNow { continuation.resume() }
        }
        state.withLock { $0.waking -= 1 }
      case .job(let job):
        do {
          try await body(job.record)
          done = job.slot
        } catch {
          await failed(job, error)
        }
        // Bodies that never suspend must not keep commits, and everybody else, from the few threads that there are.
        handled &+= 1
        if handled % Self.handledBetweenYields == 0 { await Task.yield() }
      }
    }
  }

  /// Finishes the worker's last record and takes its next one, in one step; wakes another worker if there is more.
  private func turn(
    finishing done: DeliveryMachine.Slot?
  ) -> (Turn, DeliveryMachine.Action, CheckedContinuation<Void, Never>?) {
    state.withLock { state in
      var action = DeliveryMachine.Action.none
      if let done {
        action = state.machine.finish(done)
        state.counts.finished += 1
      }
      guard let slot = state.machine.take(), let record = state.records[Int(slot)].take() else {
        return (state.machine.isStopping ? .end : .wait, action, nil)
      }
      return (.job((slot, record)), action, another(&state))
    }
  }

  /// An idle worker that should look, if there is more to do than have been woken for it.
  private func another(_ state: inout State) -> CheckedContinuation<Void, Never>? {
    guard state.machine.readyCount > state.waking, let worker = state.idle.popLast() else { return nil }
    state.waking += 1
    return worker
  }

  /// Wakes a worker if there is something to do; it wakes the next one.
  func wakeWorker() {
    let worker = state.withLock { another(&$0) }
    worker?.resume()
  }

  private func failed(_ job: Job, _ error: any Error) async {
    if let rejection = error as? DeliveryRejection {
      let attempts = state.withLock { $0.machine.attempts(job.slot) + 1 }
      return await giveUp(job, rejection.underlying, attempts, rejection.policy)
    }
    let random = options.random()
    let now = clock.now()
    let verdict = state.withLock { state -> DeliveryMachine.Verdict in
      if state.isCancelled { return .lost(state.machine.abandon(job.slot)) }
      let verdict = state.machine.fail(job.slot, now: now, random: random)
      if case .retry = verdict {
        state.records[Int(job.slot)] = job.record
        state.counts.retries += 1
      }
      return verdict
    }
    switch verdict {
    case .lost(let action): perform(action)
    case .retry: subscription.wake.signal()
    case .giveUp(let attempts): await giveUp(job, error, attempts, options.onFailure)
    }
  }

  private func giveUp(_ job: Job, _ error: any Error, _ attempts: Int, _ policy: FailurePolicy) async {
    switch policy {
    case .fail: abandon(job, refusal(job.record, error, attempts))
    case .skip:
      perform(
        state.withLock { state in
          state.counts.skipped += 1
          return state.machine.finish(job.slot)
        })
    case .deadLetter(let topic):
      do {
        try await topic.append(deadLetter: job.record, error, attempts: attempts, of: subscription)
      } catch let failure {
        if state.withLock({ $0.isCancelled }) { return perform(state.withLock { $0.machine.abandon(job.slot) }) }
        var refusal = refusal(job.record, error, attempts)
        refusal.message += "; and the dead letter could not be appended: \(failure)"
        return abandon(job, refusal)
      }
      perform(
        state.withLock { state in
          state.counts.deadLettered += 1
          return state.machine.finish(job.slot)
        })
    }
  }

  /// Stops everything because of the record, which stays unfinished.
  private func abandon(_ job: Job, _ error: EventLogError) {
    fail(error)
    perform(state.withLock { $0.machine.abandon(job.slot) })
  }

  private func refusal(_ record: OwnedRecord, _ error: any Error, _ attempts: Int) -> EventLogError {
    var refusal = EventLogError(
      .recordFailed,
      "the record at offset \(record.offset) could not be handled in \(attempts) attempts; repair what handles it and "
        + "start again, or choose a failure policy that passes over it: \(error)", topic: subscription.topic.name,
      partition: record.partition)
    refusal.offset = record.offset
    refusal.attempts = attempts
    refusal.underlying = error
    return refusal
  }
}
