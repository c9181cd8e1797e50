import Synchronization

/// One waiting task: whichever comes first, news or cancellation, resumes it once.
final class WaitRegistration: Sendable {
  private enum Phase {
    case new
    case waiting(UInt64)
    case cancelled
  }
  private let phase = Mutex(Phase.new)
  private let state: TopicState

  init(_ state: TopicState) { self.state = state }

  func begin(after seen: UInt64, _ continuation: CheckedContinuation<Void, any Error>) {
    // The waiter is known to the topic before its id is known here: a cancellation in between is looked for after.
    guard let id = state.wait(after: seen, .task(continuation)) else { return }
    let isCancelled = phase.withLock { phase in
      if case .cancelled = phase { return true }
      phase = .waiting(id)
      return false
    }
    if isCancelled { state.cancelWait(id) }
  }

  func cancel() {
    let id = phase.withLock { phase -> UInt64? in
      defer { phase = .cancelled }
      if case .waiting(let id) = phase { return id }
      return nil
    }
    if let id { state.cancelWait(id) }
  }
}
