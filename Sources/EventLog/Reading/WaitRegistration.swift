import Synchronization

/// One waiting task: whichever comes first, news or cancellation, resumes it once.
final class WaitRegistration: Sendable {
  private enum Phase {
    case new
    case waiting(UInt64)
    case cancelled
  }
  private let phase = Mutex(Phase.new)
  private let cancelWait: @Sendable (UInt64) -> Void

  /// `cancelWait` resumes the waiter of an id now, if it still waits.
  init(_ cancelWait: @escaping @Sendable (UInt64) -> Void) { self.cancelWait = cancelWait }

  /// The task waits under `id`; nil if it was resumed already.
  func begin(_ id: UInt64?) {
    // The waiter is known to whom it waits for before its id is known here: a cancellation in between is looked for
    // after.
    guard let id else { return }
    let isCancelled = phase.withLock { phase in
      if case .cancelled = phase { return true }
      phase = .waiting(id)
      return false
    }
    if isCancelled { cancelWait(id) }
  }

  func cancel() {
    let id = phase.withLock { phase -> UInt64? in
      defer { phase = .cancelled }
      if case .waiting(let id) = phase { return id }
      return nil
    }
    if let id { cancelWait(id) }
  }
}
