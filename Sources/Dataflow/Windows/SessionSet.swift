import Bytes
public import Records

/// The sessions of one key: where they lie, and where the last one lay that is gone.
@usableFromInline
struct SessionSet: Record, Hashable {
  /// The last microsecond of the latest session that is gone; `Int64.min`: none is remembered.
  var gone = Int64.min
  /// The number that the next session gets.
  var next: Int64 = 0
  /// Four for each session: number, first and last microsecond, and 1 if it has fired at its end.
  var fields: [Int64] = []

  init() {}

  /// The number under which a key waits for the time at which it may forget what is gone.
  @usableFromInline static let forgetting: Int64 = -1

  struct Session: Hashable {
    var number: Int64
    var first: Int64
    var last: Int64
    var hasFired: Bool
  }

  var count: Int { fields.count / 4 }

  subscript(index: Int) -> Session {
    get {
      let place = index * 4
      return Session(
        number: fields[place], first: fields[place + 1], last: fields[place + 2], hasFired: fields[place + 3] != 0)
    }
    set {
      let place = index * 4
      fields[place] = newValue.number
      fields[place + 1] = newValue.first
      fields[place + 2] = newValue.last
      fields[place + 3] = newValue.hasFired ? 1 : 0
    }
  }

  func index(of number: Int64) -> Int? { (0..<count).first { fields[$0 * 4] == number } }

  mutating func remove(at index: Int) { fields.removeSubrange(index * 4..<index * 4 + 4) }

  /// Where a record goes.
  @usableFromInline
  struct Placement {
    @usableFromInline var number: Int64
    @usableFromInline var first: Int64
    @usableFromInline var last: Int64
    /// Sessions that it joins to this one.
    @usableFromInline var absorbed: [Int64]
    /// A time that the session must wait for from now on.
    @usableFromInline var timer: Int64?
  }

  /// Finds the session of a record at `time`, or makes it, and joins those that it connects; nil: it is late, and
  /// nothing has changed.
  ///
  /// - Parameters:
  ///   - now: the watermark.
  ///   - lateness: microseconds for which a session is kept after its end.
  @usableFromInline
  static func place(
    _ time: Int64, in set: inout SessionSet?, gap: Int64, now: Int64, lateness: Int64
  ) -> Placement? {
    let wasEmpty = set == nil
    var sessions = set.take() ?? SessionSet()
    let placement = sessions.place(time, gap: gap, now: now, lateness: lateness)
    set = wasEmpty && placement == nil ? nil : sessions
    return placement
  }

  private mutating func place(_ time: Int64, gap: Int64, now: Int64, lateness: Int64) -> Placement? {
    var (first, last) = (time, time.saturatingAdd(gap - 1))
    if last.saturatingAdd(lateness) <= now || (gone > .min && time <= gone) { return nil }
    let (recordFirst, recordLast) = (first, last)
    var target: Int?
    var absorbed: [Int64] = []
    var index = 0
    while index < count {
      let session = self[index]
      guard session.first <= recordLast && recordFirst <= session.last else {
        index += 1
        continue
      }
      first = min(first, session.first)
      last = max(last, session.last)
      if target == nil {
        target = index
        index += 1
      } else {
        absorbed.append(session.number)
        remove(at: index)
      }
    }
    let isOver = last <= now
    var timer: Int64?
    if let target {
      let before = self[target]
      self[target] = Session(number: before.number, first: first, last: last, hasFired: isOver)
      // One that has not fired waits for an end of its, no later than this one, and will look again then.
      if isOver { timer = last.saturatingAdd(lateness) } else if before.hasFired { timer = last }
      return Placement(number: before.number, first: first, last: last, absorbed: absorbed, timer: timer)
    }
    fields += [next, first, last, isOver ? 1 : 0]
    next += 1
    timer = isOver ? last.saturatingAdd(lateness) : last
    return Placement(number: next - 1, first: first, last: last, absorbed: [], timer: timer)
  }

  /// What a time that was waited for means to a session.
  @usableFromInline
  struct Step {
    @usableFromInline let first: Int64
    @usableFromInline let last: Int64
    /// Whether the session's end is reached.
    @usableFromInline var isEnd = false
    /// The next time to wait for.
    @usableFromInline var timer: Int64?
    /// Set if the session is gone: when its key may forget it.
    @usableFromInline var forget: Int64?
  }

  /// Does what session `number` waited for until `time`; nil if there is no such session (any more).
  ///
  /// - Parameter isOwn: whether the session waited, not its trigger.
  @usableFromInline
  static func reach(
    _ time: Int64, _ number: Int64, isOwn: Bool, in set: inout SessionSet?, lateness: Int64, gap: Int64
  ) -> Step? {
    guard var sessions = set else { return nil }
    if number == forgetting {
      if sessions.count == 0 && time >= sessions.forgetTime(lateness: lateness, gap: gap) { set = nil }
      return nil
    }
    guard let index = sessions.index(of: number) else { return nil }
    var session = sessions[index]
    var step = Step(first: session.first, last: session.last)
    guard isOwn else { return step }
    if !session.hasFired {
      // It has grown since.
      if time < session.last {
        step.timer = session.last
        return step
      }
      session.hasFired = true
      sessions[index] = session
      step.isEnd = true
    }
    let end = session.last.saturatingAdd(lateness)
    if time >= end {
      sessions.remove(at: index)
      sessions.gone = max(sessions.gone, session.last)
      step.forget = sessions.forgetTime(lateness: lateness, gap: gap)
    } else if step.isEnd {
      step.timer = end
    }
    set = sessions
    return step
  }

  /// From when on a record before the end of what is gone is late anyway.
  private func forgetTime(lateness: Int64, gap: Int64) -> Int64 {
    gone.saturatingAdd(lateness).saturatingAdd(gap)
  }
}
