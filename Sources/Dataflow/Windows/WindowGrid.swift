public import Bytes

/// The slices into which time is cut, and how windows are made of them.
///
/// A record belongs to one slice; a window is a row of neighbouring slices, and is known by its last one. Slices are
/// numbered in the order of time, the same for every key and every run.
@usableFromInline
struct WindowGrid: Sendable {
  enum Slices: Sendable {
    /// Of one length, beginning at `offset` after multiples of it.
    case even(size: Int64, offset: Int64)
    /// In turn `first` long and the rest of `period`: where a sliding window ends inside another's slide.
    case paired(period: Int64, first: Int64, offset: Int64)
    /// Calendar days.
    case days(any TimeZoneRule)
  }

  enum Windows: Sendable, Hashable {
    case single
    /// Each slice is the last of a window of so many.
    case sliding(count: Int64)
    /// Each even slice is the last of a window that spans so many periods and itself.
    case pairedSliding(periods: Int64)
    /// Each slice is the last of a window that begins at a multiple of `count` slices.
    case cumulative(count: Int64)
  }

  let slices: Slices
  let windows: Windows

  /// Bytes that a slice's number takes in keys: seven leave room for eight of the key in place.
  @usableFromInline
  var numberWidth: Int {
    switch slices {
    case .even(let size, _): size >= 256 ? 7 : 8
    // Two slices a period.
    case .paired(let period, _, _): period >= 512 ? 7 : 8
    case .days: 7
    }
  }

  /// Whether every slice is a window of its own.
  @usableFromInline var isSingle: Bool { windows == .single }

  /// One slice: its number, its first and its last microsecond.
  @usableFromInline
  struct Slice: Sendable {
    @usableFromInline let number: Int64
    @usableFromInline let first: Int64
    @usableFromInline let last: Int64

    @inlinable
    func contains(_ time: Int64) -> Bool { first <= time && time <= last }
  }

  /// The slice that holds `time`.
  @usableFromInline
  func slice(at time: Int64) -> Slice { slice(number(at: time)) }

  private func number(at time: Int64) -> Int64 {
    switch slices {
    case .even(let size, let offset): return Wide.floor(Int128(time) - Int128(offset), Int128(size)).clamped
    case .paired(let period, let first, let offset):
      let shifted = Int128(time) - Int128(offset)
      let whole = Wide.floor(shifted, Int128(period))
      let rest = shifted - whole * Int128(period)
      return (whole * 2 + (rest < Int128(first) ? 0 : 1)).clamped
    case .days(let rule): return CalendarDays(rule).number(at: time)
    }
  }

  /// Slice `number`.
  @usableFromInline
  func slice(_ number: Int64) -> Slice {
    let (start, next) = (start(of: Int128(number)), start(of: Int128(number) + 1))
    return Slice(number: number, first: start.clamped, last: (next - 1).clamped)
  }

  private func start(of number: Int128) -> Int128 {
    switch slices {
    case .even(let size, let offset): return number * Int128(size) + Int128(offset)
    case .paired(let period, let first, let offset):
      let whole = Wide.floor(number, 2)
      return whole * Int128(period) + (number == whole * 2 ? 0 : Int128(first)) + Int128(offset)
    case .days(let rule):
      let start = CalendarDays(rule).start(of: number.clamped)
      // Beyond the end of time, which belongs to the last day.
      return start == .max ? Int128(Int64.max) + 1 : Int128(start)
    }
  }

  /// The last slice that is over at `watermark`; nil: there is none.
  @usableFromInline
  func lastOver(at watermark: Timestamp) -> Int64? {
    if watermark == .max { return .max }
    if watermark == .min { return nil }
    let found = slice(at: watermark.microseconds)
    return found.last <= watermark.microseconds ? found.number : found.number == .min ? nil : found.number - 1
  }
}

// MARK: - Windows

extension WindowGrid {
  /// The first slice of the window whose last one is `last`.
  @usableFromInline
  func firstSlice(ofWindow last: Int64) -> Int64 {
    switch windows {
    case .single: last
    case .sliding(let count): last.saturatingSubtract(count - 1)
    case .pairedSliding(let periods): last.saturatingSubtract(2 * periods)
    case .cumulative(let count): Wide.floor(Int128(last), Int128(count)).times(count)
    }
  }

  /// The first window that ends with slice `slice` or later: of those that hold the slice, the first.
  @usableFromInline
  func firstWindow(atLeast slice: Int64) -> Int64 {
    if case .pairedSliding = windows { return slice & 1 == 0 ? slice : slice.saturatingAdd(1) }
    return slice
  }

  /// The last window that holds slice `slice`.
  @usableFromInline
  func lastWindow(holding slice: Int64) -> Int64 {
    switch windows {
    case .single: slice
    case .sliding(let count): slice.saturatingAdd(count - 1)
    // The slice's own period begins it, if the slice is the first or second of that.
    case .pairedSliding(let periods): (slice & 1 == 0 ? slice : slice - 1).saturatingAdd(2 * periods)
    case .cumulative(let count): Wide.floor(Int128(slice), Int128(count)).times(count).saturatingAdd(count - 1)
    }
  }

  /// The window after `window`.
  @usableFromInline
  func window(after window: Int64) -> Int64 { firstWindow(atLeast: window.saturatingAdd(1)) }

  /// The first and last microsecond of the window whose last slice is `last`.
  @usableFromInline
  func bounds(ofWindow last: Int64) -> (first: Int64, last: Int64) {
    (slice(firstSlice(ofWindow: last)).first, slice(last).last)
  }

  /// The last microsecond of the window: it fires when the watermark reaches it.
  @usableFromInline
  func end(ofWindow last: Int64) -> Int64 { slice(last).last }

  @usableFromInline
  func window(_ last: Int64) -> Window {
    let bounds = bounds(ofWindow: last)
    return Window(
      start: Timestamp(microseconds: bounds.first), end: Timestamp(microseconds: bounds.last.saturatingAdd(1)))
  }
}

/// Arithmetic that does not overflow at the ends of time.
enum Wide {
  /// The greatest whole number of times that `divisor`, above zero, goes into `value`.
  static func floor(_ value: Int128, _ divisor: Int128) -> Int128 {
    if let value = Int64(exactly: value), let divisor = Int64(exactly: divisor) {
      let (whole, rest) = value.quotientAndRemainder(dividingBy: divisor)
      return Int128(rest < 0 ? whole - 1 : whole)
    }
    let (whole, rest) = value.quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? whole - 1 : whole
  }
}

extension Int128 {
  /// The nearest 64-bit number.
  var clamped: Int64 { Int64(clamping: self) }

  func times(_ factor: Int64) -> Int64 { (self * Int128(factor)).clamped }
}
