public import Bytes

/// How records find their panes and how panes end, for windows that are kept one by one.
@usableFromInline
struct PaneLayout: Sendable {
  @usableFromInline
  enum Kind: Sendable {
    case grid(WindowGrid)
    case session(gap: Int64)
    case global
  }

  @usableFromInline let kind: Kind
  @usableFromInline let lateness: Int64
  @usableFromInline let isPurging: Bool
  @usableFromInline let isProcessingTime: Bool

  @usableFromInline
  init(_ layout: WindowLayout, _ settings: WindowSettings) {
    switch layout.kind {
    case .grid(let grid): kind = .grid(grid)
    case .session(let gap): kind = .session(gap: gap)
    case .global: kind = .global
    }
    lateness = settings.lateness
    isPurging = settings.isPurging
    isProcessingTime = settings.isProcessingTime
  }

  /// Bytes that a pane's number takes in keys.
  @usableFromInline
  var numberWidth: Int { if case .grid(let grid) = kind { grid.numberWidth } else { 7 } }

  @usableFromInline
  var gap: Int64? { if case .session(let gap) = kind { gap } else { nil } }

  /// The first and last microsecond of pane `number`, where they follow from the number.
  @usableFromInline
  func bounds(of number: Int64) -> PaneBounds {
    guard case .grid(let grid) = kind else { return PaneBounds(first: .min, last: .max) }
    let bounds = grid.bounds(ofWindow: number)
    return PaneBounds(first: bounds.first, last: bounds.last)
  }

  /// Appends the panes that a record at `time` belongs to and that are not gone at `now`; returns whether there is one.
  @usableFromInline
  func assign(_ time: Int64, now: Int64, _ found: (_ number: Int64, _ bounds: PaneBounds) -> Void) -> Bool {
    guard case .grid(let grid) = kind else {
      found(0, PaneBounds(first: .min, last: .max))
      return true
    }
    let slice = grid.slice(at: time).number
    let last = grid.lastWindow(holding: slice)
    var window = grid.firstWindow(atLeast: slice)
    var isOnTime = false
    while window <= last {
      let bounds = bounds(of: window)
      if bounds.last.saturatingAdd(lateness) > now || now == .min {
        isOnTime = true
        found(window, bounds)
      }
      if window == .max { break }
      window = grid.window(after: window)
    }
    return isOnTime
  }
}

/// Where a pane lies in time.
@usableFromInline
struct PaneBounds: Sendable, Hashable {
  @usableFromInline let first: Int64
  /// Inclusive.
  @usableFromInline let last: Int64

  @usableFromInline
  init(first: Int64, last: Int64) {
    self.first = first
    self.last = last
  }

  /// Whether it has no end.
  var isEndless: Bool { first == .min && last == .max }

  @usableFromInline
  var window: Window {
    Window(start: Timestamp(microseconds: first), end: Timestamp(microseconds: last.saturatingAdd(1)))
  }

  /// The timestamp of results of the pane, made at `time`.
  @usableFromInline
  func resultTime(at time: Timestamp) -> Timestamp { isEndless ? time : Timestamp(microseconds: last) }
}
