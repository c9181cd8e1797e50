import Bytes

/// The times that panes wait for: of the engine (an end, a clean-up) and of triggers; sealed like any state.
///
/// Key: time ‖ pane ‖ key. Once each, whoever asked.
@usableFromInline
final class PaneTimers {
  /// Who waits.
  @usableFromInline
  enum Reason {
    @usableFromInline static let engine: UInt8 = 1
    @usableFromInline static let eventTime: UInt8 = 2
    @usableFromInline static let clock: UInt8 = 4
  }

  /// Timers of one time.
  @usableFromInline
  struct Due: ~Copyable {
    @usableFromInline let time: Int64
    /// Pane ‖ key.
    @usableFromInline var panes = KeyColumn()
    @usableFromInline var reasons: [UInt8] = []

    init(_ time: Int64) { self.time = time }
  }

  private let state: KeyedState<UInt8>
  private let index: DueIndex
  private let paneWidth: Int
  private let counters: OperatorCounters
  private var requested = KeyColumn()
  private var reasons: [UInt8] = []

  init(_ state: KeyedState<UInt8>, _ index: DueIndex, paneWidth: Int, _ counters: OperatorCounters) {
    self.state = state
    self.index = index
    self.paneWidth = paneWidth
    self.counters = counters
  }

  /// The least time for which a pane may wait.
  @usableFromInline var earliest: Int64? { index.earliest }

  /// Notes that pane `position` of `panes` waits for `time`, to be carried out by `apply`.
  @usableFromInline
  func gather(_ time: Int64, _ reason: UInt8, _ panes: borrowing KeyColumn, at position: Int) {
    requested.append(time, width: KeyColumn.timeWidth, before: panes, at: position)
    reasons.append(reason)
  }

  /// Carries out what was gathered. While draining triggers get no new timers: they could go on for ever.
  @usableFromInline
  func apply(isDraining: Bool) throws {
    if reasons.isEmpty { return }
    var discarded = 0
    try state.update(requested, 0..<requested.count) { position, value in
      let reason = reasons[position]
      if isDraining && reason != Reason.engine {
        discarded += 1
        return
      }
      if value == nil { index.add(requested, at: position, width: KeyColumn.timeWidth) }
      value = (value ?? 0) | reason
    }
    counters.discardedTimers(discarded)
    reasons.removeAll(keepingCapacity: true)
    requested.removeAll()
  }

  /// Takes out the timers of the earliest time up to `limit`.
  @usableFromInline
  func next(upTo limit: Int64) throws -> Due? {
    guard let (time, waiting) = try index.next(upTo: limit) else { return nil }
    var due = Due(time)
    try state.update(waiting.keys, 0..<waiting.keys.count) { position, value in
      guard let reason = value.take() else { return }
      unsafe waiting.keys.withBytes(at: position) { bytes in
        unsafe due.panes.append(
          numbered: bytes.slice(KeyColumn.timeWidth, bytes.count - KeyColumn.timeWidth), width: paneWidth)
      }
      due.reasons.append(reason)
    }
    return due
  }
}

extension OperatorContext {
  /// The timers kept as the state called `name`, of panes whose numbers take `paneWidth` bytes.
  @usableFromInline
  func paneTimers(_ name: String, paneWidth: Int) throws -> PaneTimers {
    let state = keyedState(over: try stateBacking(name, of: UInt8.self))
    return PaneTimers(
      state, try dueIndex(of: name, width: KeyColumn.timeWidth, innerWidth: paneWidth), paneWidth: paneWidth, counters)
  }
}
