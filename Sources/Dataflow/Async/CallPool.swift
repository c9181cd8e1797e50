import Synchronization

/// Runs a subtask's calls on the concurrency pool, a bounded number at once, and gathers what comes of them.
///
/// A worker task takes one call after the other as long as there are any, so that under load nobody is woken per
/// record; the subtask's thread puts in and takes out whole lots.
final class CallPool<Input: Sendable, Output: Sendable>: Sendable {
  struct Call: Sendable {
    let id: UInt64
    let input: Input
  }

  struct Completion: Sendable {
    let id: UInt64
    let result: Result<Output, any Error>
  }

  private struct Worker {
    var task: Task<Void, Never>?
    /// The call under way, and since when.
    var call: (id: UInt64, since: Int64)?
  }

  private struct State {
    var waiting: [Call] = []
    /// Calls taken from the front of `waiting`.
    var taken = 0
    var completions: [Completion] = []
    /// The workers that count, by number; one that was given up is not among them.
    var workers: [UInt64: Worker] = [:]
    var nextWorker: UInt64 = 0
    var isClosed = false

    mutating func next() -> Call? {
      guard taken < waiting.count else { return nil }
      defer {
        taken += 1
        if taken == waiting.count || taken >= 1024 {
          waiting.removeFirst(taken)
          taken = 0
        }
      }
      return waiting[taken]
    }
  }

  private let state = Mutex(State())
  private let capacity: Int
  private let clock: any RuntimeClock
  private let wake: @Sendable () -> Void
  private let body: @Sendable (Input) async throws -> Output

  init(
    capacity: Int, clock: any RuntimeClock, wake: @escaping @Sendable () -> Void,
    _ body: @escaping @Sendable (Input) async throws -> Output
  ) {
    self.capacity = capacity
    self.clock = clock
    self.wake = wake
    self.body = body
  }

  /// Puts calls behind those that wait.
  func submit(_ calls: [Call]) {
    state.withLock { state in
      state.waiting += calls
      hire(&state)
    }
  }

  /// Takes what has come of calls since the last time.
  func collect() -> [Completion] {
    state.withLock { state in
      let completions = state.completions
      state.completions = []
      return completions
    }
  }

  /// Gives up calls that have been under way since before `start`; returns their numbers. Their results are dropped.
  func giveUp(startedBefore start: Int64) -> [UInt64] {
    state.withLock { state in
      var ids: [UInt64] = []
      for (number, worker) in state.workers {
        guard let call = worker.call, call.since <= start else { continue }
        ids.append(call.id)
        state.workers[number] = nil
        worker.task?.cancel()
      }
      hire(&state)
      return ids.sorted()
    }
  }

  /// Since when the oldest call is under way.
  var oldestStart: Int64? { state.withLock { $0.workers.values.compactMap { $0.call?.since }.min() } }

  /// Cancels everything; nothing is waited for.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.waiting = []
      state.taken = 0
      for worker in state.workers.values { worker.task?.cancel() }
      state.workers = [:]
    }
  }

  private func hire(_ state: inout State) {
    var wanted = state.waiting.count - state.taken
    // Those hired and not begun will each take one.
    wanted -= state.workers.values.reduce(0) { $0 + ($1.call == nil ? 1 : 0) }
    while wanted > 0 && state.workers.count < capacity && !state.isClosed {
      let number = state.nextWorker
      state.nextWorker += 1
      wanted -= 1
      state.workers[number] = Worker()
      state.workers[number]?.task = Task { await self.work(number) }
    }
  }

  private func work(_ number: UInt64) async {
    while let call = begin(number) {
      let result: Result<Output, any Error>
      do { result = .success(try await body(call.input)) } catch { result = .failure(error) }
      guard finish(number, Completion(id: call.id, result: result)) else { return }
    }
  }

  private func begin(_ number: UInt64) -> Call? {
    state.withLock { state in
      guard state.workers[number] != nil else { return nil }
      guard let call = state.next() else {
        state.workers[number] = nil
        return nil
      }
      state.workers[number]?.call = (call.id, clock.now)
      return call
    }
  }

  /// Returns whether the worker is to go on.
  private func finish(_ number: UInt64, _ completion: Completion) -> Bool {
    let goesOn = state.withLock { state in
      // Given up: somebody else has taken its place.
      guard state.workers[number] != nil else { return false }
      state.workers[number]?.call = nil
      state.completions.append(completion)
      return true
    }
    if goesOn { wake() }
    return goesOn
  }
}
