public import Bytes

/// The timers of one operator on one subtask: those of event time and, where the operator has them, of the clock.
@usableFromInline
final class OperatorTimers {
  @usableFromInline let event: EventTimers
  @usableFromInline let processing: EventTimers?
  @usableFromInline let clock: ProcessingClock

  init(event: EventTimers, processing: EventTimers?, clock: ProcessingClock) {
    self.event = event
    self.processing = processing
    self.clock = clock
  }

  /// Takes what a call asked for, for key `position` of `keys`.
  @usableFromInline
  func gather(_ requests: TimerRequests, _ keys: borrowing KeyColumn, at position: Int) {
    if !requests.event.isEmpty { event.gather(requests.event, keys, at: position) }
    if !requests.processing.isEmpty { processing?.gather(requests.processing, keys, at: position) }
  }

  @usableFromInline
  static var noHandler: DataflowError {
    DataflowError(
      .invalidArgument, "process", "a timer of processing time is set and there is no onProcessingTimer to call for it")
  }

  /// Carries out what was gathered.
  @usableFromInline
  func apply(isDraining: Bool) throws {
    try event.apply(isDraining: isDraining)
    try processing?.apply(isDraining: isDraining)
  }
}

/// The timers that a call asked for, set or deleted, in order.
@usableFromInline
struct TimerRequests {
  @usableFromInline var event: [(time: Int64, isSet: Bool)] = []
  @usableFromInline var processing: [(time: Int64, isSet: Bool)] = []

  @inlinable init() {}

  @inlinable var isEmpty: Bool { event.isEmpty && processing.isEmpty }

  @inlinable
  mutating func removeAll() {
    if !event.isEmpty { event.removeAll(keepingCapacity: true) }
    if !processing.isEmpty { processing.removeAll(keepingCapacity: true) }
  }
}

/// Which timers are due.
@usableFromInline
enum TimerKind: Sendable {
  case event, processing
}

/// Fires an operator's timers of processing time when the clock has come to them.
@usableFromInline
final class ProcessingTimerWorker: RegionWorker {
  private let timers: EventTimers
  private let clock: ProcessingClock
  private let fire: (Timestamp) throws -> Void

  @usableFromInline
  init(_ timers: EventTimers, _ clock: ProcessingClock, _ fire: @escaping (Timestamp) throws -> Void) {
    self.timers = timers
    self.clock = clock
    self.fire = fire
  }

  @usableFromInline var due: Timestamp? { timers.earliest.map { Timestamp(microseconds: $0) } }

  @usableFromInline
  func work(at _: Timestamp) throws -> Bool {
    let now = clock.read()
    guard let due, due <= now else { return false }
    try fire(now)
    return true
  }
}

extension OperatorContext {
  /// The operator's timers, those of the last checkpoint included: states `name/timers` and, with `processing`,
  /// `name/clock-timers`.
  @usableFromInline
  func timers(_ name: String, processing: Bool) throws -> OperatorTimers {
    OperatorTimers(
      event: try eventTimers(name + "/timers"),
      processing: processing ? try eventTimers(name + "/clock-timers") : nil, clock: processingClock)
  }
}

extension StateDeclaration {
  /// The states of an operator's timers.
  @usableFromInline
  static func timers(of name: String, processing: Bool) -> [StateDeclaration] {
    let event = StateDeclaration(name + "/timers", .timers)
    return processing ? [event, StateDeclaration(name + "/clock-timers", .timers)] : [event]
  }
}
