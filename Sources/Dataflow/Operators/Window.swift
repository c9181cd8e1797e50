public import Bytes

/// A stretch of event time: from `start` on, before `end`.
@frozen
public struct Window: Hashable, Sendable {
  public var start: Timestamp
  /// Exclusive.
  public var end: Timestamp

  @inlinable
  public init(start: Timestamp, end: Timestamp) {
    self.start = start
    self.end = end
  }
}

/// Windows of one length, one beside the other, the same for every key and every run.
public struct TumblingWindows: Sendable, Hashable {
  /// Microseconds.
  @usableFromInline let size: Int64
  /// Where windows begin, counted from 1970 on.
  @usableFromInline let offset: Int64

  /// Windows of `size`, which is at least a microsecond, beginning at `offset` after multiples of `size` since 1970.
  public static func tumbling(_ size: Duration, offset: Duration = .zero) -> TumblingWindows {
    let size = max(1, size.wholeMicroseconds)
    let (_, rest) = offset.wholeMicroseconds.quotientAndRemainder(dividingBy: size)
    return TumblingWindows(size: size, offset: rest < 0 ? rest + size : rest)
  }

  /// The start of the window that `time` falls in; below `Timestamp.min` there is none: it begins there.
  @inlinable
  func start(of time: Timestamp) -> Int64 {
    let shifted = time.microseconds.saturatingSubtract(offset)
    var rest = shifted % size
    if rest < 0 { rest += size }
    return shifted.saturatingSubtract(rest).saturatingAdd(offset)
  }

  /// The last microsecond of the window that begins at `start`: it fires when the watermark reaches it.
  @inlinable
  func last(of start: Int64) -> Int64 { start.saturatingAdd(size - 1) }

  /// The latest start of a window that fires at `watermark`; nil if there is none.
  @inlinable
  func latestStart(firedBy watermark: Timestamp) -> Int64? {
    if watermark == .max { return .max }
    let (start, overflow) = watermark.microseconds.subtractingReportingOverflow(size - 1)
    return overflow ? nil : start
  }
}

extension KeyedStream {
  /// The records of each key by window of event time.
  public func window(_ windows: TumblingWindows) -> WindowedStream<Element> {
    WindowedStream(keyed: self, windows: windows)
  }
}

/// A keyed stream cut into windows; `aggregate` says what becomes of them.
public struct WindowedStream<Element: Sendable> {
  @usableFromInline let keyed: KeyedStream<Element>
  @usableFromInline let windows: TumblingWindows
}
