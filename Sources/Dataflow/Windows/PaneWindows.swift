public import Bytes
import Records

/// Windows that are kept one by one, each with what it holds and its trigger's state: the general way, for triggers,
/// purging, sessions, global windows, windows by the clock, and windows that keep their records.
extension KeyedStream {
  @inlinable
  func addPanes<Key: KeyEncodable, Contents: PaneContents, Trigger: WindowTrigger<Element>, Output: Sendable>(
    _ name: String, _ layout: PaneLayout, _ trigger: Trigger, _ onError: ErrorPolicy, states: [StateDeclaration],
    contents: @escaping @Sendable (OperatorContext) throws -> Contents,
    result: @escaping @Sendable (_ key: Key, _ window: WindowFiring, _ value: Contents.Contents) throws -> Output
  ) -> (results: Stream<Output>, late: Stream<Element>) where Contents.Element == Element {
    let names = PaneNames(name, layout, usesClock: trigger.usesProcessingTime)
    let description = OperatorDescription(
      kind: "window", name: name, keepsKeys: true, isTerminal: true, states: states + names.states,
      sides: onError.sides)
    return flow.addOperator(description, after: stream, as: Output.self, side: Element.self) {
      context, output, late in
      let panes = PaneWindows<Key, Contents, Trigger, Output>(
        context, layout, trigger, onError, try contents(context),
        triggers: try context.stateBacking(names.trigger, of: Trigger.State.self),
        sessions: layout.gap == nil ? nil : try context.stateBacking(names.sessions, of: SessionSet.self),
        timers: try context.paneTimers(names.timers, paneWidth: layout.numberWidth),
        clockTimers: names.hasClock ? try context.paneTimers(names.clock, paneWidth: layout.numberWidth) : nil,
        output, result: result)
      return Receiver(
        batch: { batch in
          context.counters.received(batch.count)
          var lateRecords = LateRecords(isWanted: !late.isDiscarding)
          try panes.take(batch, &lateRecords)
          try lateRecords.send(of: batch, to: late, context)
        },
        watermark: { watermark in
          try panes.advance(to: watermark)
          try output.watermark(watermark)
          try late.watermark(watermark)
        })
    }
  }
}

/// The names of the states that panes need beside their contents.
@usableFromInline
struct PaneNames: Sendable {
  @usableFromInline let trigger: String
  @usableFromInline let sessions: String
  @usableFromInline let timers: String
  @usableFromInline let clock: String
  /// Whether a trigger sets timers of the clock while windows go by event time.
  @usableFromInline let hasClock: Bool
  @usableFromInline let states: [StateDeclaration]

  @usableFromInline
  init(_ name: String, _ layout: PaneLayout, usesClock: Bool) {
    trigger = name + "/trigger"
    sessions = name + "/sessions"
    timers = name + "/timers"
    clock = name + "/clock timers"
    hasClock = usesClock && !layout.isProcessingTime
    var states = [StateDeclaration(trigger, .windows), StateDeclaration(timers, .timers)]
    if layout.gap != nil { states.append(StateDeclaration(sessions, .value)) }
    if hasClock { states.append(StateDeclaration(clock, .timers)) }
    self.states = states
  }
}

/// The panes of one operator on one subtask.
@usableFromInline
final class PaneWindows<
  Key: KeyEncodable, Contents: PaneContents, Trigger: WindowTrigger<Contents.Element>, Output: Sendable
> {
  @usableFromInline typealias Element = Contents.Element

  @usableFromInline let context: OperatorContext
  @usableFromInline let layout: PaneLayout
  @usableFromInline let width: Int
  @usableFromInline let trigger: Trigger
  @usableFromInline let onError: ErrorPolicy<Element>
  @usableFromInline let contents: Contents
  /// Present as long as the pane is.
  @usableFromInline let triggers: KeyedState<Trigger.State>
  @usableFromInline let sessions: KeyedState<SessionSet>?
  /// By the time of the windows: event time, or the clock.
  @usableFromInline let timers: PaneTimers
  @usableFromInline let clockTimers: PaneTimers?
  @usableFromInline let output: Receiver<Output>
  @usableFromInline let result: (Key, WindowFiring, Contents.Contents) throws -> Output
  @usableFromInline let time: OperatorTime
  @usableFromInline let clock: ProcessingClock?
  /// The results of the call under way.
  @usableFromInline var collector = Collector<Output>(capacity: 0)
  @usableFromInline var call = TriggerContext()
  @usableFromInline var isDraining = false

  @inlinable
  init(
    _ context: OperatorContext, _ layout: PaneLayout, _ trigger: Trigger, _ onError: ErrorPolicy<Element>,
    _ contents: Contents, triggers: any KeyedBacking<Trigger.State>, sessions: (any KeyedBacking<SessionSet>)?,
    timers: PaneTimers, clockTimers: PaneTimers?, _ output: Receiver<Output>,
    result: @escaping (Key, WindowFiring, Contents.Contents) throws -> Output
  ) {
    self.context = context
    self.layout = layout
    width = layout.numberWidth
    self.trigger = trigger
    self.onError = onError
    self.contents = contents
    self.triggers = context.keyedState(over: triggers)
    self.triggers.isUndoable = onError != .fail
    self.sessions = sessions.map { context.keyedState(over: $0) }
    self.sessions?.isUndoable = onError != .fail
    self.timers = timers
    self.clockTimers = clockTimers
    self.output = output
    self.result = result
    time = context.eventTime
    let hasClock = layout.isProcessingTime || clockTimers != nil
    clock = hasClock ? context.processingClock : nil
    if hasClock { context.join(PaneClock(self)) }
  }

  /// The last microsecond that is over, by the time of the windows.
  @usableFromInline
  var now: Int64 {
    guard layout.isProcessingTime, let clock else { return time.current.microseconds }
    return isDraining ? .max : clock.read().microseconds.saturatingSubtract(1)
  }

  /// Takes the records of a batch, puts aside those that are late, and fires what triggers want.
  @inlinable
  func take(_ batch: borrowing Batch<Element>, _ late: inout LateRecords) throws {
    if let clock {
      try fireClock(at: clock.read())
    }
    do {
      if let gap = layout.gap, let sessions {
        try takeSessions(batch, gap, sessions, &late)
      } else {
        try takeAssigned(batch, &late)
      }
      try applyTimers()
    } catch { throw context.failure(error) }
    // A timer for a time that has passed does not wait for the next watermark.
    try fire(timers, upTo: now)
    try send()
  }

  /// Takes over a watermark and fires what is due.
  @inlinable
  func advance(to watermark: Watermark) throws {
    guard time.advance(to: watermark) else { return }
    context.counters.watermark(time.current)
    if let clock { call.look(at: clock.read()) }
    if watermark.time == .max { isDraining = true }
    // Windows by the clock have nothing to do with watermarks, but at the end of all input they fire too.
    if !layout.isProcessingTime || isDraining { try fire(timers, upTo: now) }
    if isDraining, let clockTimers { try fire(clockTimers, upTo: .max) }
    try send()
  }

  /// Fires what is due by the clock.
  @inlinable
  func fireClock(at time: Timestamp) throws {
    call.look(at: time)
    if layout.isProcessingTime { try fire(timers, upTo: now) }
    if let clockTimers { try fire(clockTimers, upTo: time.microseconds) }
    try send()
  }

  @inlinable
  func send() throws {
    if collector.count == 0 { return }
    let results = collector.take()
    context.counters.emitted(results.count)
    try output.batch(results)
  }

  @inlinable
  func applyTimers() throws {
    try timers.apply(isDraining: isDraining)
    try clockTimers?.apply(isDraining: isDraining)
  }
}

/// The clock's part of panes: they fire without records or watermarks.
@usableFromInline
final class PaneClock: RegionWorker {
  private let fire: (Timestamp) throws -> Void
  private let earliest: () -> Timestamp?
  private let clock: ProcessingClock?

  @usableFromInline
  init<Key, Contents, Trigger, Output>(_ panes: PaneWindows<Key, Contents, Trigger, Output>) {
    clock = panes.clock
    fire = { [unowned panes] in try panes.fireClock(at: $0) }
    earliest = { [unowned panes] in panes.clockDue }
  }

  @usableFromInline
  func work(at time: Timestamp) throws -> Bool {
    guard let due, due <= time else { return false }
    try fire(clock?.read() ?? time)
    return true
  }

  @usableFromInline var due: Timestamp? { earliest() }
}

extension PaneWindows {
  /// The time of the clock at which something is due.
  @usableFromInline
  var clockDue: Timestamp? {
    var due: Int64?
    // A window by the clock is over when its last microsecond is.
    if layout.isProcessingTime { due = timers.earliest.map { $0.saturatingAdd(1) } }
    if let earliest = clockTimers?.earliest { due = min(due ?? earliest, earliest) }
    return due.map { Timestamp(microseconds: $0) }
  }
}
