public import Bytes

extension PaneWindows {
  /// Fires everything that waits for a time up to `limit`, in the order of time, and what comes to wait meanwhile.
  @inlinable
  func fire(_ timers: PaneTimers, upTo limit: Int64) throws {
    do {
      while let due = try timers.next(upTo: limit) {
        var start = 0
        while start < due.panes.count {
          let end = min(start + KeyedState<Int>.chunk, due.panes.count)
          if let sessions {
            for index in start..<end { try fireSession(due, at: index, sessions) }
          } else {
            try contents.prepare(due.panes, start..<end)
            try triggers.prepare(due.panes, start..<end)
            for index in start..<end { try firePane(due, at: index) }
          }
          start = end
        }
        try applyTimers()
      }
    } catch { throw context.failure(error) }
  }

  @inlinable
  func firePane(_ due: borrowing PaneTimers.Due, at index: Int) throws {
    // Gone, or never there but for a record that was undone.
    guard triggers.value(at: index) != nil else { return }
    let number = unsafe due.panes.withBytes(at: index) { unsafe KeyColumn.number($0, width: width) }
    let bounds = layout.bounds(of: number)
    let reason = due.reasons[index]
    let isEnd = reason & PaneTimers.Reason.engine != 0 && due.time == bounds.last
    try reach(due.time, reason, isEnd: isEnd, due.panes, at: index, bounds)
    let gone = bounds.last.saturatingAdd(layout.lateness)
    if reason & PaneTimers.Reason.engine != 0 {
      if due.time >= gone {
        try remove(due.panes, at: index)
      } else if isEnd {
        timers.gather(gone, PaneTimers.Reason.engine, due.panes, at: index)
      }
    }
    contents.keepChanges()
    triggers.keepChanges()
  }

  @inlinable
  func remove(_ panes: borrowing KeyColumn, at index: Int) throws {
    try contents.clear(panes, at: index)
    triggers.change(at: index) { $0 = nil }
  }

  /// Lets the trigger decide about a time, and does what it wants; what fails is undone.
  @inlinable
  func reach(
    _ time: Int64, _ reason: UInt8, isEnd: Bool, _ panes: borrowing KeyColumn, at index: Int, _ bounds: PaneBounds
  ) throws {
    let isClock = reason & PaneTimers.Reason.clock != 0
    guard isEnd || isClock || reason & PaneTimers.Reason.eventTime != 0 else { return }
    let first = collector.count
    do {
      let reached = Timestamp(microseconds: isClock && layout.isProcessingTime ? time.saturatingAdd(1) : time)
      let now = now
      begin(bounds, at: reached, now: now)
      var action = TriggerAction.none
      triggers.change(at: index) { state in
        guard state != nil else { return }
        if reason & PaneTimers.Reason.eventTime != 0 && !isEnd {
          action.join(trigger.onEventTime(reached, &state!, &call))
        }
        if isClock { action.join(trigger.onProcessingTime(reached, &state!, &call)) }
        if isEnd { action.join(trigger.onEnd(&state!, &call)) }
      }
      // Times of the windows' own clock come in order, whatever has been reached since; the other clock's do not.
      let isOver = isClock && clockTimers != nil ? bounds.last <= now : bounds.last < time
      let kind: WindowFiring.Kind = isEnd ? .onTime : isOver ? .late : .early
      try act(action, kind, panes, at: index, bounds)
      gatherTimers(panes, at: index)
    } catch {
      undoResults(to: first)
      contents.undoChanges()
      triggers.undoChanges()
      forgetTimers()
      let bare = KeyColumn(bareKeyOf: panes, at: index, width: width)
      try onError.handle(error, context, bare, 0, at: Timestamp(microseconds: time))
    }
  }

  /// A session's own times: it may have grown since, or been joined to another.
  @inlinable
  func fireSession(
    _ due: borrowing PaneTimers.Due, at index: Int, _ sessions: KeyedState<SessionSet>
  ) throws {
    let number = unsafe due.panes.withBytes(at: index) { unsafe KeyColumn.number($0, width: width) }
    let bare = KeyColumn(bareKeyOf: due.panes, at: index, width: width)
    try sessions.prepare(bare, 0..<1)
    let reason = due.reasons[index]
    let isEngine = reason & PaneTimers.Reason.engine != 0
    let step = sessions.change(at: 0) { set in
      SessionSet.reach(
        due.time, number, isOwn: isEngine, in: &set, lateness: layout.lateness, gap: layout.gap ?? 0)
    }
    sessions.keepChanges()
    guard let step else { return }
    try contents.prepare(due.panes, index..<index + 1)
    try triggers.prepare(due.panes, index..<index + 1)
    let bounds = PaneBounds(first: step.first, last: step.last)
    if triggers.value(at: index) != nil {
      try reach(due.time, reason, isEnd: step.isEnd, due.panes, at: index, bounds)
    }
    if isEngine {
      if let timer = step.timer { timers.gather(timer, PaneTimers.Reason.engine, due.panes, at: index) }
      if let forget = step.forget {
        try remove(due.panes, at: index)
        var mark = KeyColumn()
        mark.append(SessionSet.forgetting, width: width, before: bare, at: 0)
        timers.gather(forget, PaneTimers.Reason.engine, mark, at: 0)
      }
    }
    contents.keepChanges()
    triggers.keepChanges()
  }
}

extension TriggerAction {
  @usableFromInline
  mutating func join(_ other: TriggerAction) {
    fires = fires || other.fires
    purges = purges || other.purges
  }
}

extension TriggerContext {
  @usableFromInline
  mutating func look(at clock: Timestamp) { processingTime = clock }

  @usableFromInline
  mutating func begin(_ window: Window, at time: Timestamp, now: Int64) {
    self.window = window
    timestamp = time
    watermark = Timestamp(microseconds: now)
  }
}
