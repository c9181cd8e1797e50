public import Bytes
import Synchronization

/// What one operator counts on one subtask; written once per batch by its thread, readable from any.
public final class OperatorCounters: Sendable {
  private let incoming = Atomic<Int>(0)
  private let outgoing = Atomic<Int>(0)
  private let lateness = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)
  private let letters = Atomic<Int>(0)
  private let discards = Atomic<Int>(0)
  private let reached = Atomic<Int64>(Timestamp.min.microseconds)

  init() {}

  /// Counts records taken in.
  public func received(_ count: Int) { incoming.add(count, ordering: .relaxed) }
  /// Counts records passed on.
  public func emitted(_ count: Int) { if count > 0 { outgoing.add(count, ordering: .relaxed) } }
  /// Counts records that came after their time.
  public func late(_ count: Int) { if count > 0 { lateness.add(count, ordering: .relaxed) } }
  /// Counts records left out by the error policy.
  public func skipped(_ count: Int) { failures.add(count, ordering: .relaxed) }
  /// Counts records sent to a dead-letter output.
  public func deadLettered(_ count: Int) { letters.add(count, ordering: .relaxed) }
  /// Counts timers registered during the last step of a drain, which never fire.
  public func discardedTimers(_ count: Int) { if count > 0 { discards.add(count, ordering: .relaxed) } }
  /// Notes the watermark.
  public func watermark(_ time: Timestamp) { reached.store(time.microseconds, ordering: .relaxed) }

  func snapshot(_ name: String, kind: String) -> OperatorMetrics {
    OperatorMetrics(
      name: name, kind: kind, recordsIn: incoming.load(ordering: .relaxed),
      recordsOut: outgoing.load(ordering: .relaxed), late: lateness.load(ordering: .relaxed),
      skipped: failures.load(ordering: .relaxed), deadLettered: letters.load(ordering: .relaxed),
      discardedTimers: discards.load(ordering: .relaxed),
      watermark: Timestamp(microseconds: reached.load(ordering: .relaxed)))
  }
}
