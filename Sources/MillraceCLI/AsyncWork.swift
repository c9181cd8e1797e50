import Dispatch
import Synchronization

/// Asynchronous work of a command, which itself lives on a plain thread and may block.
enum AsyncWork {
  private final class Outcome<R: Sendable>: Sendable {
    let result = Mutex<Result<R, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
  }

  /// Runs `body` and returns its result; cancels it, and goes on waiting, once `isStopped` says so. `look` is called
  /// every 50 ms.
  static func run<R: Sendable>(
    isStopped: () -> Bool = { false }, look: () -> Void = {}, _ body: @escaping @Sendable () async throws -> R
  ) throws -> R {
    let outcome = Outcome<R>()
    let task = Task.detached {
      let result: Result<R, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.result.withLock { $0 = result }
      outcome.done.signal()
    }
    while outcome.done.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
      look()
      if isStopped() { task.cancel() }
    }
    guard let result = outcome.result.withLock({ $0 }) else { throw CancellationError() }
    return try result.get()
  }
}
