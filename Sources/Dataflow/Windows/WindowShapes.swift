import Bytes

/// A way of cutting a keyed stream into windows.
public protocol WindowShape: Sendable {
  /// For the library's own shapes; there is no way to make another.
  var layout: WindowLayout { get }
}

/// A shape in which a record belongs to one window that never grows.
public protocol SeparateWindowShape: WindowShape {}

/// A shape in which windows share parts or grow together: their contents must be mergeable.
public protocol MergingWindowShape: WindowShape {}

/// What a shape means to the engine.
public struct WindowLayout: Sendable {
  enum Kind: Sendable {
    case grid(WindowGrid)
    /// Microseconds without a record that end a session.
    case session(gap: Int64)
    /// One window for all of time; it fires after so many records, or as its trigger has it.
    case global(count: Int64?)
  }

  let kind: Kind
}

/// Windows one beside the other, the same for every key and every run.
public struct TumblingWindows: SeparateWindowShape {
  public let layout: WindowLayout
}

extension WindowShape where Self == TumblingWindows {
  /// Windows of `size`, which is at least a microsecond, beginning at `offset` after multiples of `size` since 1970.
  public static func tumbling(_ size: Duration, offset: Duration = .zero) -> TumblingWindows {
    let size = max(1, size.wholeMicroseconds)
    return TumblingWindows(
      layout: WindowLayout(
        kind: .grid(WindowGrid(slices: .even(size: size, offset: floorRest(offset, size)), windows: .single))))
  }

  /// Calendar days of a time zone: from midnight to midnight, with 23 or 25 hours where clocks are changed.
  ///
  /// Foundation's `TimeZone` is a rule; `TimeZoneTable` is one that does not depend on the machine's data.
  public static func daily(in zone: some TimeZoneRule) -> TumblingWindows {
    TumblingWindows(layout: WindowLayout(kind: .grid(WindowGrid(slices: .days(zone), windows: .single))))
  }
}

/// Windows that overlap. What they share is kept once: a record costs the same whatever the overlap, and a window is
/// merged from its parts when it fires.
public struct OverlappingWindows: MergingWindowShape {
  public let layout: WindowLayout
}

extension WindowShape where Self == OverlappingWindows {
  /// A window of `size` every `slide`, beginning at `offset` after multiples of `slide` since 1970. A slide above the
  /// size is taken as the size.
  public static func sliding(_ size: Duration, every slide: Duration, offset: Duration = .zero) -> OverlappingWindows {
    let size = max(1, size.wholeMicroseconds)
    let slide = min(max(1, slide.wholeMicroseconds), size)
    let offset = floorRest(offset, slide)
    let rest = size % slide
    let grid =
      rest == 0
      ? WindowGrid(slices: .even(size: slide, offset: offset), windows: .sliding(count: size / slide))
      : WindowGrid(
        slices: .paired(period: slide, first: rest, offset: offset), windows: .pairedSliding(periods: size / slide))
    return OverlappingWindows(layout: WindowLayout(kind: .grid(grid)))
  }

  /// Windows that begin every `size` and grow: each fires every `step`, with all since its beginning, the last time at
  /// its end. `size` is made a multiple of `step`.
  public static func cumulative(_ size: Duration, every step: Duration, offset: Duration = .zero) -> OverlappingWindows
  {
    let step = max(1, step.wholeMicroseconds)
    let count = max(1, size.wholeMicroseconds / step)
    let whole = step.multipliedReportingOverflow(by: count).partialValue
    // The windows begin where slices number multiples of `count` do.
    let offset = floorRest(offset, whole)
    return OverlappingWindows(
      layout: WindowLayout(
        kind: .grid(WindowGrid(slices: .even(size: step, offset: offset), windows: .cumulative(count: count)))))
  }
}

/// Stretches of a key's own activity: records less than a gap apart belong together.
public struct SessionWindows: MergingWindowShape {
  public let layout: WindowLayout
}

extension WindowShape where Self == SessionWindows {
  /// A session ends `gap` (at least a microsecond) after its last record; a record at its end begins another one.
  public static func session(gap: Duration) -> SessionWindows {
    SessionWindows(layout: WindowLayout(kind: .session(gap: max(1, gap.wholeMicroseconds))))
  }
}

/// One window per key for all of time.
public struct GlobalWindows: SeparateWindowShape {
  public let layout: WindowLayout
}

extension WindowShape where Self == GlobalWindows {
  /// Fires as its trigger has it, and for the last time when the job is drained.
  public static var global: GlobalWindows { GlobalWindows(layout: WindowLayout(kind: .global(count: nil))) }

  /// Fires for every `count` records of a key, which are then forgotten; what is left when the job is drained fires
  /// then. `Window`'s bounds are those of all time.
  public static func count(_ count: Int) -> GlobalWindows {
    GlobalWindows(layout: WindowLayout(kind: .global(count: Int64(max(1, count)))))
  }
}

/// `offset` moved into 0 ..< `size` by multiples of it.
private func floorRest(_ offset: Duration, _ size: Int64) -> Int64 {
  let rest = offset.wholeMicroseconds % size
  return rest < 0 ? rest + size : rest
}
