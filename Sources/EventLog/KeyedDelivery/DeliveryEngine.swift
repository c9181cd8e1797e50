import Bytes
import Synchronization

/// Carries out what `DeliveryMachine` decides: workers that pull records, one that reads and one that commits, all in
/// one task group.
final class DeliveryEngine: Sendable {
  typealias Body = @Sendable (OwnedRecord) async throws -> Void

  struct State {
    var machine: DeliveryMachine
    /// By slot; empty while the record is with a worker.
    var records: [OwnedRecord?] = []
    var idle: [CheckedContinuation<Void, Never>] = []
    /// Workers that were woken and have not looked yet.
    var waking = 0
    var counts = DeliveryCounts()
    var failure: (any Error)?
    /// Time to stop is up: what runs is cancelled.
    var isCancelled = false
  }

  let subscription: Subscription
  let maxConcurrent: Int
  let options: DeliveryOptions
  let body: Body
  let clock: GroupClock
  let state: Mutex<State>
  let committing = Wakeup()

  init(_ subscription: Subscription, _ maxConcurrent: Int, _ options: DeliveryOptions, _ body: @escaping Body) {
    self.subscription = subscription
    self.maxConcurrent = maxConcurrent
    self.options = options
    self.body = body
    clock = subscription.options.clock
    state = Mutex(
      State(
        machine: DeliveryMachine(
          partitions: subscription.topic.partitions,
          limits: DeliveryMachine.Limits(
            recordsAhead: options.maximumRecordsAhead, bytesAhead: options.maximumBytesAhead,
            waitingBytes: options.maximumWaitingBytes, commitRecords: options.commitRecords, retry: options.retry,
            reportsIdle: !subscription.options.tailing))))
  }

  var counts: DeliveryCounts { state.withLock { $0.counts } }
  var isStopping: Bool { state.withLock { $0.machine.isStopping } }

  private enum Ended: Sendable { case worker, committer, timeout }

  /// Works until it is stopped or at the end; returns what went wrong.
  func run() async -> (any Error)? {
    await withTaskGroup(of: Ended.self) { group in
      for _ in 0..<maxConcurrent {
        group.addTask {
          await self.work()
          return .worker
        }
      }
      group.addTask {
        await self.keepCommitting()
        return .committer
      }
      await conduct()
      stop()
      group.addTask {
        try? await self.clock.sleep(self.options.stopTimeout)
        return .timeout
      }
      var workers = maxConcurrent
      while workers > 0, let ended = await group.next() {
        switch ended {
        case .worker: workers -= 1
        case .committer: break
        case .timeout:
          state.withLock { $0.isCancelled = true }
          group.cancelAll()
        }
      }
      group.cancelAll()
    }
    do { try await commit() } catch { fail(error) }
    return state.withLock { $0.failure }
  }

  /// Begins nothing new; what runs is finished.
  func stop() {
    let idle = state.withLock { state in
      state.machine.stop()
      defer { state.idle = [] }
      return state.idle
    }
    for worker in idle { worker.resume() }
    subscription.wake.signal()
    committing.signal()
  }

  /// Stops, with the error that is thrown in the end.
  func fail(_ error: any Error) {
    state.withLock { $0.failure = $0.failure ?? error }
    stop()
  }

  func perform(_ action: DeliveryMachine.Action) {
    switch action {
    case .none: return
    case .read: subscription.wake.signal()
    case .commit: committing.signal()
    case .readAndCommit:
      subscription.wake.signal()
      committing.signal()
    }
  }

  // MARK: Committing

  private func keepCommitting() async {
    while !isStopping && !Task.isCancelled {
      await committing.wait(options.commitInterval, clock)
      do {
        try await commit()
      } catch let error as EventLogError where error.isRetriable {
        // Tried again at the next turn, and reported if the last one fails.
        continue
      } catch {
        fail(error)
      }
    }
  }

  /// Commits what is finished, in all partitions that are still ours.
  func commit() async throws {
    let points = state.withLock { $0.machine.commits() }
    try await commit(points)
  }

  func commit(_ points: [DeliveryMachine.CommitPoint]) async throws {
    let commits = points.map {
      TopicGroup.Commit(
        partition: $0.partition, generation: $0.generation, offset: $0.offset, finished: $0.finished)
    }
    do {
      try await subscription.shared.commit(commits, by: subscription.id, leavingOutLost: true)
    } catch {
      state.withLock { $0.machine.redo(points) }
      throw error
    }
  }
}
