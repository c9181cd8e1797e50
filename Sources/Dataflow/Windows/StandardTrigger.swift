public import Bytes
public import Records

/// Fires at the end of a window, for each late record, and before the end as the stream was told to.
public struct StandardTrigger<Element: Sendable>: WindowTrigger {
  /// Microseconds of event time from one early firing to the next.
  @usableFromInline var early: Int64?
  /// The same by the clock.
  @usableFromInline var earlyOfClock: Int64?
  /// Records of a window and key from one firing to the next.
  @usableFromInline var count: Int64?

  /// Whether it fires at the end alone.
  @usableFromInline var isPlain: Bool { early == nil && earlyOfClock == nil && count == nil }

  @usableFromInline init() {}

  public var initialState: StandardTriggerState { StandardTriggerState() }
  public var usesProcessingTime: Bool { earlyOfClock != nil }

  public func onRecord(_: borrowing Element, _ state: inout StandardTriggerState, _ context: inout TriggerContext)
    -> TriggerAction
  {
    if context.isOver { return .fire }
    if let count = count {
      state.count += 1
      if state.count >= count {
        state.count = 0
        return .fire
      }
    }
    wait(&state, &context)
    return .none
  }

  /// Sets the timers of the next early firing, if none is set.
  private func wait(_ state: inout StandardTriggerState, _ context: inout TriggerContext) {
    if let early = early, state.tick == .min {
      let last = context.window.end.microseconds.saturatingSubtract(1)
      let start = context.window.start.microseconds == .min ? 0 : context.window.start.microseconds
      let base = max(context.timestamp, context.watermark).microseconds
      // The last microsecond of the stretch that `base` lies in.
      let stretches = Wide.floor(Int128(base) - Int128(start), Int128(early)) + 1
      let tick = (Int128(start) + stretches * Int128(early) - 1).clamped
      if tick < last {
        state.tick = tick
        context.setTimer(at: Timestamp(microseconds: tick))
      }
    }
    if let early = earlyOfClock, state.clockTick == .min {
      let stretches = Wide.floor(Int128(context.processingTime.microseconds), Int128(early)) + 1
      let tick = (stretches * Int128(early)).clamped
      state.clockTick = tick
      context.setProcessingTimer(at: Timestamp(microseconds: tick))
    }
  }

  public func onEventTime(
    _ time: Timestamp, _ state: inout StandardTriggerState, _ context: inout TriggerContext
  ) -> TriggerAction {
    guard state.tick == time.microseconds else { return .none }
    state.tick = .min
    return .fire
  }

  public func onProcessingTime(
    _ time: Timestamp, _ state: inout StandardTriggerState, _ context: inout TriggerContext
  ) -> TriggerAction {
    guard state.clockTick == time.microseconds else { return .none }
    state.clockTick = .min
    return context.isOver ? .none : .fire
  }

  public func merge(
    _ other: StandardTriggerState, into state: inout StandardTriggerState, _ context: inout TriggerContext
  ) {
    state.count += other.count
    // The other's timers are gone; its changes wait as ours do.
    if other.tick != .min && state.tick == .min {
      state.tick = other.tick
      context.setTimer(at: Timestamp(microseconds: other.tick))
    }
    if other.clockTick != .min && state.clockTick == .min {
      state.clockTick = other.clockTick
      context.setProcessingTimer(at: Timestamp(microseconds: other.clockTick))
    }
  }
}

/// What a standard trigger remembers of a key's window.
public struct StandardTriggerState: Record, Hashable {
  var count: Int64 = 0
  /// The times it waits for; `Int64.min`: none.
  var tick = Int64.min
  var clockTick = Int64.min
}
