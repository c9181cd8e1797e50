import Bytes

extension KeyedStream {
  /// The records of each key by windows of event time.
  ///
  /// A window fires when the watermark reaches its last microsecond; what comes for it after that is late: counted, and
  /// given to the second of the streams that the `…WithLate` forms return.
  public func window<Shape: WindowShape>(_ shape: Shape) -> WindowedStream<Element, Shape, StandardTrigger<Element>> {
    var trigger = StandardTrigger<Element>()
    var settings = WindowSettings()
    if case .global(let count?) = shape.layout.kind {
      trigger.count = count
      settings.isPurging = true
    }
    return WindowedStream(keyed: self, shape: shape, trigger: trigger, settings: settings)
  }
}

/// A keyed stream cut into windows; `aggregate` and `contents` say what becomes of them.
public struct WindowedStream<Element, Shape: WindowShape, Trigger: WindowTrigger<Element>> {
  @usableFromInline let keyed: KeyedStream<Element>
  @usableFromInline let shape: Shape
  @usableFromInline var trigger: Trigger
  @usableFromInline var settings = WindowSettings()

  @usableFromInline
  init(keyed: KeyedStream<Element>, shape: Shape, trigger: Trigger, settings: WindowSettings = WindowSettings()) {
    self.keyed = keyed
    self.shape = shape
    self.trigger = trigger
    self.settings = settings
  }

  /// Keeps windows for `lateness` of event time after their end: a record that comes for one meanwhile fires it again,
  /// as an update. It is gone when the watermark reaches its last microsecond and `lateness`; nothing is emitted then.
  public func allowingLateness(_ lateness: Duration) -> Self {
    var result = self
    result.settings.lateness = max(0, lateness.wholeMicroseconds)
    return result
  }

  /// Forgets a window's contents whenever it fires: each firing has only what came since the one before. Overlapping
  /// windows then share nothing: a record costs one update for each window that holds it.
  public func purging() -> Self {
    var result = self
    result.settings.isPurging = true
    return result
  }

  /// The same windows by the clock of the machine instead of the records' time: a record belongs to the window in which
  /// it is worked off, and a window fires when the clock reaches its end. Nothing is late. A drain fires what waits.
  public func inProcessingTime() -> Self {
    var result = self
    result.settings.isProcessingTime = true
    return result
  }
}

extension WindowedStream where Trigger == StandardTrigger<Element> {
  /// Fires also before the end, whenever `every` of event time has gone by since the window's start, for what has
  /// changed.
  public func firingEarly(every: Duration) -> Self {
    var result = self
    result.trigger.early = max(1, every.wholeMicroseconds)
    return result
  }

  /// Fires also before the end, at every multiple of `every` of the machine's clock, for what has changed.
  public func firingEarly(everyOfClock every: Duration) -> Self {
    var result = self
    result.trigger.earlyOfClock = max(1, every.wholeMicroseconds)
    return result
  }

  /// Fires also after every `count` records of a window and key.
  public func firing(onCount count: Int) -> Self {
    var result = self
    result.trigger.count = Int64(max(1, count))
    return result
  }

  /// Fires as `trigger` has it.
  public func triggered<Other: WindowTrigger<Element>>(by trigger: Other) -> WindowedStream<Element, Shape, Other> {
    WindowedStream<Element, Shape, Other>(keyed: keyed, shape: shape, trigger: trigger, settings: settings)
  }
}

/// What was said about a windowed stream.
@usableFromInline
struct WindowSettings: Sendable {
  /// Microseconds.
  @usableFromInline var lateness: Int64 = 0
  @usableFromInline var isPurging = false
  @usableFromInline var isProcessingTime = false

  @usableFromInline
  init() {}
}
