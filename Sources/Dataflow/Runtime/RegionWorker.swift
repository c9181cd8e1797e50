public import Bytes

/// Work of an operator that no batch brings: timers of the clock, results of calls that were under way.
///
/// All calls come on the subtask's thread, when the region may work.
@usableFromInline
protocol RegionWorker: AnyObject {
  /// Does what can be done at `time` of the clock; returns whether anything was done.
  func work(at time: Timestamp) throws -> Bool
  /// The time of the clock at which there is work, if the subtask's bell does not ring before.
  var due: Timestamp? { get }
  /// Whether the region must not take another batch before some work was done.
  var isFull: Bool { get }
  /// Whether something is under way that must be through before the last barrier of a run that goes to the end.
  var isBusy: Bool { get }
}

extension RegionWorker {
  @usableFromInline var isFull: Bool { false }
  @usableFromInline var isBusy: Bool { false }
}

/// Processing time as one operator on one subtask has it: the clock's time of day, but it never falls, not from one run
/// to the next either. Goes into the checkpoint as `name/clock`.
@usableFromInline
final class ProcessingClock {
  private let clock: any RuntimeClock
  private let reached: OperatorTime

  init(_ clock: any RuntimeClock, _ reached: OperatorTime) {
    self.clock = clock
    self.reached = reached
  }

  /// The time now; read once per batch.
  @usableFromInline
  func read() -> Timestamp {
    _ = reached.advance(to: Watermark(clock.time))
    return reached.current
  }
}
