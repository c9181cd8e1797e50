import Synchronization

/// Wakes one waiting task. A signal that comes while nobody waits is kept; several count as one.
final class Wakeup: Sendable {
  private enum State {
    case idle, signalled
    case waiting(CheckedContinuation<Void, Never>)
  }

  private let state = Mutex(State.idle)

  func signal() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      if case .waiting(let continuation) = state {
        state = .idle
        return continuation
      }
      state = .signalled
      return nil
    }
    waiting?.resume()
  }

  /// Returns at the next signal, or once the task is cancelled. One task at a time; a second one returns at once.
  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isNow = state.withLock { state in
          switch state {
          case .signalled:
            state = .idle
            return true
          case .waiting: return true
          case .idle:
            state = .waiting(continuation)
            return false
          }
        }
        if isNow { continuation.resume() }
      }
    } onCancel: {
      signal()
    }
  }

  /// As `wait`, no longer than `timeout` if there is one.
  func wait(_ timeout: Duration?, _ clock: GroupClock) async {
    guard let timeout else { return await wait() }
    if timeout <= .zero { return }
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        // A wait that ends before leaves no signal behind.
        do { try await clock.sleep(timeout) } catch { return }
        self.signal()
      }
      await self.wait()
      group.cancelAll()
    }
  }
}

/// The time by which consumers wait, retry and commit: monotonic. Replaced in tests.
public struct GroupClock: Sendable {
  /// The time since some moment in the past.
  public var now: @Sendable () -> Duration
  /// Suspends for so long; throws once the task is cancelled.
  public var sleep: @Sendable (Duration) async throws -> Void

  public init(
    now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  /// The system's continuous clock.
  public static let system: GroupClock = {
    let start = ContinuousClock.now
    return GroupClock(
      now: { ContinuousClock.now - start }, sleep: { try await Task.sleep(for: $0, clock: .continuous) })
  }()
}
