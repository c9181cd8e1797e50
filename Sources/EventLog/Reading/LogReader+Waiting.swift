import Bytes
import Glibc
import LMDB

extension LogReader {
  /// Waits on the calling thread until there may be something new behind the last read, or `timeout` has passed;
  /// returns whether there may be. In the writer's process a commit wakes it; elsewhere it looks every `pollInterval`.
  public func wait(timeout: Duration) throws -> Bool {
    let milliseconds = max(1, Int(clamping: timeout.wholeMicroseconds / 1000))
    guard state.core.isWritable else { return try poll(milliseconds) }
    let wake = BlockingResult<Void>()
    guard let id = state.wait(after: seenSequence, .thread(wake)) else { return true }
    if wake.wait(milliseconds: milliseconds) { return true }
    state.cancelWait(id)
    return try state.snapshot().endSequence != seenSequence
  }

  private func poll(_ milliseconds: Int) throws -> Bool {
    let interval = max(1, Int(clamping: state.core.options.pollInterval.wholeMicroseconds / 1000))
    var left = milliseconds
    while try state.snapshot().endSequence == seenSequence {
      if left <= 0 { return false }
      usleep(UInt32(clamping: min(left, interval)) * 1000)
      left -= interval
    }
    return true
  }

  /// Suspends until there may be something new behind the last read, or the task is cancelled.
  func waitForNews() async throws {
    let state = state
    let seen = seenSequence
    guard state.core.isWritable else {
      return try await Task.sleep(for: state.core.options.pollInterval)
    }
    let registration = WaitRegistration { state.cancelWait($0) }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        registration.begin(state.wait(after: seen, .task(continuation)))
      }
    } onCancel: {
      registration.cancel()
    }
  }
}
