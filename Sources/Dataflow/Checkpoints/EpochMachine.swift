/// When epochs of a run begin and end: decides, does nothing. `EpochCoordinator` holds the lock and acts.
struct EpochMachine {
  /// Sealed epochs that may wait for the writer; the next barrier waits for them.
  static let longestQueue = 2

  private let parallelism: Int
  private let trigger: CheckpointTrigger
  private let drains: Bool
  /// The last epoch whose barrier was sent.
  private(set) var begun: UInt64
  /// The last epoch that is durable.
  private(set) var committed: UInt64
  /// Subtasks that have not sealed the epoch that was begun last.
  private(set) var outstanding = 0
  /// How the epoch begun last ends.
  private(set) var end = EpochEnd.goesOn
  /// Whether the epoch begun last ends the run at the sources' ends.
  private(set) var isComplete = false
  private var wantsStop = false
  private var ended: Set<Int> = []
  private var due: Int64
  private var activityAtLast = 0

  init(parallelism: Int, trigger: CheckpointTrigger, drains: Bool, epoch: UInt64, now: Int64) {
    self.parallelism = parallelism
    self.trigger = trigger
    self.drains = drains
    begun = epoch
    committed = epoch
    due = trigger.interval.map { now + $0 } ?? .max
  }

  /// Whether the last epoch was begun: no barrier follows it.
  var isFinal: Bool { end != .goesOn }

  /// Whether that epoch is durable: the run is over.
  var isFinished: Bool { isFinal && committed == begun }

  /// Whether the next barrier must wait for subtasks or for the writer, which ring when they are done.
  private var isBusy: Bool { outstanding > 0 || begun - committed >= Self.longestQueue }

  /// When to look at the clock again.
  var nextDue: Int64 { isFinal || isBusy ? .max : due }

  /// The epoch whose barrier is to be sent now, or nil. `activity` counts records and whatever else changes something.
  /// `isHurried`: memory is short, so it should not be long.
  mutating func begin(now: Int64, activity: Int, isHurried: Bool = false) -> UInt64? {
    guard !isFinal, !isBusy else { return nil }
    let isExhausted = ended.count == parallelism
    if isExhausted || wantsStop {
      end = isExhausted && drains ? .drain : .stop
      isComplete = isExhausted
    } else if isHurried && activity != activityAtLast {
      due = trigger.interval.map { now + $0 } ?? .max
    } else if let records = trigger.records {
      if activity - activityAtLast < records { return nil }
    } else if let interval = trigger.interval {
      if now < due { return nil }
      due = now + interval
      // Nothing happened: nothing to make durable.
      if activity == activityAtLast { return nil }
    } else {
      return nil
    }
    activityAtLast = activity
    begun += 1
    outstanding = parallelism
    return begun
  }

  /// A subtask sealed the epoch begun last; returns whether it was the last one.
  mutating func sealed() -> Bool {
    outstanding -= 1
    return outstanding == 0
  }

  /// `epoch` is durable.
  mutating func commit(_ epoch: UInt64) { committed = max(committed, epoch) }

  /// A graceful end is wanted, with a last checkpoint.
  mutating func stop() { wantsStop = true }

  /// All sources of `subtask` came to their ends.
  mutating func exhaust(_ subtask: Int) { ended.insert(subtask) }
}
