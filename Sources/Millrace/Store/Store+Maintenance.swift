import EventLog
import LMDB

extension Store {
  /// Does at once what an open store does by itself every `Options.maintenanceInterval`: retention and rolling of quiet
  /// topics (of those opened here), ending snapshots past their age, freeing what readers that died held, another try
  /// for records that could not be appended to their topic.
  ///
  /// - Throws: what went wrong first; it is tried again the next time.
  public func maintain() async throws {
    try requireOpen()
    try await offPool { [environment, log, outbox, isWritable] in
      try Store.maintain(environment, log, outbox, isWriter: isWritable)
    }
  }

  /// What goes wrong behind the scenes right now, to be shown to a person: upkeep that failed, records of jobs that
  /// cannot be appended to their topic. Each is tried again by itself.
  public var backgroundFailures: [any Error] { (maintenance?.failure.map { [$0] } ?? []) + outbox.failures }

  static func maintain(_ environment: Environment, _ log: EventLog, _ outbox: Outbox, isWriter: Bool) throws {
    environment.expireReaders()
    if !isWriter { return }
    try environment.clearStaleReaders()
    try outbox.maintain()
    try log.maintainBlocking()
  }

  /// Runs `body`, which blocks, on a thread of its own.
  private func offPool(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      OSThread.start(name: "millrace-upkeep") { continuation.resume(with: Result { try body() }) }
    }
  }
}
