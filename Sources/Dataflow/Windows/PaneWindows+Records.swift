public import Bytes

extension PaneWindows {
  /// Records whose panes follow from their times.
  @inlinable
  func takeAssigned(_ batch: borrowing Batch<Element>, _ late: inout LateRecords) throws {
    let now = now
    let count = batch.count
    var panes = KeyColumn(capacity: count)
    var places: [(record: Int, bounds: PaneBounds)] = []
    places.reserveCapacity(count)
    for record in 0..<count {
      let time = layout.isProcessingTime ? now.saturatingAdd(1) : batch.timestamp(record).microseconds
      let isOnTime = layout.assign(time, now: now) { number, bounds in
        panes.append(number, width: width, before: batch.keys, at: record)
        places.append((record, bounds))
      }
      if !isOnTime { late.append(record) }
    }
    var start = 0
    var failed = -1
    while start < panes.count {
      let end = min(start + KeyedState<Int>.chunk, panes.count)
      try contents.prepare(panes, start..<end)
      try triggers.prepare(panes, start..<end)
      for index in start..<end {
        let place = places[index]
        // A record that failed in one of its windows is left out of the others.
        if place.record == failed { continue }
        if try !take(batch, place.record, panes, at: index, place.bounds, now: now, timer: nil) {
          failed = place.record
        }
      }
      start = end
    }
  }

  /// Records whose panes depend on those before.
  @inlinable
  func takeSessions(
    _ batch: borrowing Batch<Element>, _ gap: Int64, _ sessions: KeyedState<SessionSet>, _ late: inout LateRecords
  ) throws {
    let now = now
    var pane = KeyColumn()
    var other = KeyColumn()
    var start = 0
    while start < batch.count {
      let end = min(start + KeyedState<Int>.chunk, batch.count)
      try sessions.prepare(batch.keys, start..<end)
      for record in start..<end {
        let time = layout.isProcessingTime ? now.saturatingAdd(1) : batch.timestamp(record).microseconds
        let found = sessions.change(at: record) { set in
          SessionSet.place(time, in: &set, gap: gap, now: now, lateness: layout.lateness)
        }
        guard let found else {
          late.append(record)
          continue
        }
        pane.removeAll()
        pane.append(found.number, width: width, before: batch.keys, at: record)
        begin(PaneBounds(first: found.first, last: found.last), at: batch.timestamp(record), now: now)
        for number in found.absorbed {
          other.removeAll()
          other.append(number, width: width, before: batch.keys, at: record)
          try absorb(other, into: pane)
        }
        try contents.prepare(pane, 0..<1)
        try triggers.prepare(pane, 0..<1)
        let bounds = PaneBounds(first: found.first, last: found.last)
        if try !take(batch, record, pane, at: 0, bounds, now: now, timer: found.timer) {
          sessions.undoChanges()
        }
        sessions.keepChanges()
      }
      start = end
    }
  }

  /// Joins a session into another one.
  @inlinable
  func absorb(_ other: borrowing KeyColumn, into pane: borrowing KeyColumn) throws {
    try contents.merge(other, into: pane)
    try triggers.prepare(other, 0..<1)
    guard let absorbed = triggers.change(at: 0, body: { $0.take() }) else { return }
    try triggers.prepare(pane, 0..<1)
    triggers.change(at: 0) { state in
      if state == nil { state = trigger.initialState }
      trigger.merge(absorbed, into: &state!, &call)
    }
  }

  /// Adds a record to a prepared pane and does what the trigger wants; returns false if it failed and was undone.
  @inlinable
  func take(
    _ batch: borrowing Batch<Element>, _ record: Int, _ panes: borrowing KeyColumn, at index: Int,
    _ bounds: PaneBounds, now: Int64, timer: Int64?
  ) throws -> Bool {
    let time = batch.timestamp(record)
    let first = collector.count
    do {
      begin(bounds, at: time, now: now)
      try contents.add(batch[record], to: panes, at: index)
      var isNew = false
      let action = triggers.change(at: index) { state in
        if state == nil {
          state = trigger.initialState
          isNew = true
        }
        return trigger.onRecord(batch[record], &state!, &call)
      }
      try act(action, bounds.last <= now ? .late : .early, panes, at: index, bounds)
      if let timer {
        timers.gather(timer, PaneTimers.Reason.engine, panes, at: index)
      } else if isNew && layout.gap == nil {
        timers.gather(
          bounds.last > now ? bounds.last : bounds.last.saturatingAdd(layout.lateness), PaneTimers.Reason.engine, panes,
          at: index)
      }
      gatherTimers(panes, at: index)
      contents.keepChanges()
      triggers.keepChanges()
      return true
    } catch {
      undoResults(to: first)
      contents.undoChanges()
      triggers.undoChanges()
      forgetTimers()
      try onError.handle(error, context, batch, record)
      return false
    }
  }

  /// Takes back the results from `first` on.
  @inlinable
  func undoResults(to first: Int) {
    collector.undo(to: first)
    collector.batch.keys.truncate(to: first)
  }

  /// Sets up what the trigger sees.
  @inlinable
  func begin(_ bounds: PaneBounds, at time: Timestamp, now: Int64) {
    call.begin(bounds.window, at: time, now: now)
    collector.time = bounds.resultTime(at: time)
  }

  /// Carries out a trigger's decision.
  @inlinable
  func act(
    _ action: TriggerAction, _ kind: WindowFiring.Kind, _ panes: borrowing KeyColumn, at index: Int,
    _ bounds: PaneBounds
  ) throws {
    if action.fires, let value = try contents.read(panes, at: index) {
      try unsafe panes.withBytes(at: index) { bytes in
        let key = unsafe bytes.slice(width, bytes.count - width)
        guard let decoded = unsafe Key.decodeKey(key) else { throw KeyColumn.undecodable(Key.self) }
        collector.append(try result(decoded, WindowFiring(bounds.window, kind), value))
        unsafe collector.batch.keys.append(key)
      }
    }
    if action.purges || (action.fires && layout.isPurging) { try contents.clear(panes, at: index) }
  }

  @inlinable
  func gatherTimers(_ panes: borrowing KeyColumn, at index: Int) {
    if !call.eventTimers.isEmpty {
      for time in call.eventTimers { timers.gather(time, PaneTimers.Reason.eventTime, panes, at: index) }
    }
    if !call.clockTimers.isEmpty {
      for time in call.clockTimers {
        if let clockTimers {
          clockTimers.gather(time, PaneTimers.Reason.clock, panes, at: index)
        } else if layout.isProcessingTime {
          // These are due when the microsecond before them is over.
          timers.gather(time.saturatingSubtract(1), PaneTimers.Reason.clock, panes, at: index)
        }
      }
    }
    forgetTimers()
  }

  @inlinable
  func forgetTimers() {
    call.eventTimers.removeAll(keepingCapacity: true)
    call.clockTimers.removeAll(keepingCapacity: true)
  }
}
